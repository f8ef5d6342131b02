import { expect, it } from 'vitest';
import { Bands } from '../../../src/history/bands.ts';
import { silentLog } from '../../../src/host/log.ts';
import { HOUR_MS } from '../../support/bands-bench.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { OutboxFixture } from '../../support/outbox-fixture.ts';

it('has what was measured before the clock was set, once it is, as the outbox dates it', async () => {
  const fixture = await OutboxFixture.make();
  try {
    fixture.timeSync.become(false);
    const outbox = await fixture.open();
    const bands = new Bands({
      stateFolder: '/state',
      files: new MemoryFiles(),
      clock: fixture.rightClock,
      log: silentLog,
      timeSync: fixture.timeSync,
      outboxes: () => [outbox],
      expectFolder: async () => {},
    });
    const entries = [fixture.entry('a', 4), fixture.entry('b', true, { device: 'meter' })];
    await fixture.commit(outbox, entries);
    bands.take(entries);
    const nowMs = fixture.clock.wallMs();
    const read = async () => {
      const query = { devices: ['self', 'meter'], keys: ['a', 'b'], fromMs: nowMs - HOUR_MS, toMs: nowMs + HOUR_MS };
      const parts: object[] = [];
      for await (const { key, least, greatest } of bands.read(query, new AbortController().signal))
        parts.push({ key, least, greatest });
      return parts;
    };
    expect(await read()).toEqual([]);
    fixture.timeSync.become(true);
    expect(await read()).toEqual([
      { key: 'a', least: 4, greatest: 4 },
      { key: 'b', least: 1, greatest: 1 },
    ]);
    bands.close();
  } finally {
    await fixture.remove();
  }
});

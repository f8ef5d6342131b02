/** An outbox that is open, on a disk that takes nothing for long: regular entries leave from memory, each of them once. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

const WITHIN_MS = 60_000;

let fixture: OutboxFixture;
let disk: MemoryFiles;
let sent: string[];
beforeEach(async () => {
  fixture = await OutboxFixture.make();
  disk = new MemoryFiles();
  fixture.files = disk;
  sent = [];
});
afterEach(() => fixture.remove());

function refuse(code: string): void {
  disk.faults = {
    fail: (operation) => (['write', 'sync', 'rename', 'unlink'].includes(operation) ? { code } : undefined),
  };
}

/** As an uploader would, with a platform that takes all of it. */
async function send(outbox: Outbox): Promise<void> {
  for (const lane of ['alarm', 'live', 'backlog'] as const)
    for (let batch = await outbox.peek(lane, NO_LIMITS); batch !== undefined; ) {
      sent.push(...batch.entries.keys);
      await outbox.acknowledge(batch);
      batch = await outbox.peek(lane, NO_LIMITS);
    }
}

it.each(['EROFS', 'ENOSPC', 'EIO'])('regular entries leave within a minute, and go on leaving: %s', async (code) => {
  refuse(code);
  const outbox = await fixture.open();
  const said: string[] = [];
  const keys = Array.from({ length: 300 }, (_none, n) => `key${n}`);
  for (const [n, key] of keys.entries()) {
    outbox.append([fixture.entry(key, n)]).then(
      () => said.push(key),
      () => said.push(`${key} lost`),
    );
    await fixture.clock.advance(1_000);
    await send(outbox);
    if (n * 1_000 === WITHIN_MS) expect(sent.length).toBeGreaterThan(50);
  }
  expect(sent.length).toBeGreaterThan(keys.length - 15);
  expect(outbox.status()).toMatchObject({ fault: code, dropped: 0 });

  disk.faults = {};
  await fixture.clock.advance(30_000);
  await fixture.until(outbox.flush());
  await send(outbox);
  expect(sent).toEqual(keys);
  expect(said.toSorted()).toEqual(keys.toSorted());
  await fixture.until(outbox.close());
  const again = await fixture.open();
  await fixture.until(again.append([fixture.entry('after', 1)]));
  await send(again);
  expect(sent).toEqual([...keys, 'after']);
  expect(again.status()).toMatchObject({ damaged: 0, heldEntries: 0 });
});

it('they leave as soon as they have gathered, and at once when somebody waits for all of it, as a stop does', async () => {
  refuse('EROFS');
  const outbox = await fixture.open();
  outbox.append([fixture.entry('first', 1)]).catch(() => {});
  await fixture.clock.advance(1_000);
  outbox.append([fixture.entry('a', 1)]).catch(() => {});
  await fixture.clock.advance(200);
  await send(outbox);
  expect(sent).toEqual(['first']);
  await fixture.clock.advance(100);
  await send(outbox);
  expect(sent).toEqual(['first', 'a']);
  outbox.append([fixture.entry('b', 1)]).catch(() => {});
  void outbox.flush();
  await send(outbox);
  expect(sent).toEqual(['first', 'a', 'b']);
});

it('those whose time is not known wait for it', async () => {
  fixture.timeSync.become(false);
  refuse('EROFS');
  const outbox = await fixture.open();
  outbox.append([fixture.entry('a', 1)]).catch(() => {});
  await fixture.clock.advance(2 * WITHIN_MS);
  await send(outbox);
  expect(sent).toEqual([]);
  fixture.timeSync.become(true);
  await send(outbox);
  expect(sent).toEqual(['a']);
});

it('entries that the platform refuses do not keep others from leaving', async () => {
  refuse('EROFS');
  const outbox = await fixture.open();
  for (let n = 0; n < 200; n += 1) {
    outbox.append([fixture.entry(n % 10 === 0 ? 'bad' : 'good', n)]).catch(() => {});
    await fixture.clock.advance(1_000);
    for (let batch = await outbox.peek('live', NO_LIMITS); batch !== undefined; ) {
      for (const { key, sequence } of batch.entries) if (key === 'bad') outbox.quarantined.add(sequence);
      const good = await outbox.peek('live', NO_LIMITS);
      if (good !== undefined) {
        sent.push(...good.entries.keys);
        await outbox.acknowledge(good);
      }
      batch = await outbox.peek('live', NO_LIMITS);
    }
  }
  expect(sent).not.toContain('bad');
  expect(sent.length).toBeGreaterThan(165);
});

it('entries that left without the disk are no damage after a power cut, when it takes others behind them', async () => {
  const outbox = await fixture.open();
  for (let n = 0; n < 5; n += 1) await fixture.commit(outbox, [fixture.entry(`before${n}`, n)]);
  await send(outbox);
  await fixture.clock.advance(60_000);
  refuse('ENOSPC');
  for (let n = 0; n < 5; n += 1) outbox.append([fixture.entry(`without${n}`, n)]).catch(() => {});
  await fixture.clock.advance(WITHIN_MS);
  await send(outbox);
  expect(sent).toHaveLength(10);
  disk.faults = {};
  await fixture.clock.advance(30_000);
  await fixture.commit(outbox, [fixture.entry('after', 1)]);
  disk.cutPower(() => false);
  const again = await fixture.open();
  await send(again);
  expect(again.status()).toMatchObject({ damaged: 0, heldEntries: 0 });
  expect(sent.slice(10)).toEqual(['after']);
});

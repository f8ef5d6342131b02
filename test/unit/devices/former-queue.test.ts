/** What was measured as another device never lies where it would be sent, wherever the power goes; what came later is never taken for it. */
import { beforeEach, expect, it } from 'vitest';
import type { CredentialsRecord } from '../../../src/devices/credentials-record.ts';
import { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import { setFormerQueueAside } from '../../../src/devices/former-queue.ts';
import { silentLog } from '../../../src/host/log.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const RECORD: CredentialsRecord = {
  phase: 'in-use',
  source: 'imported',
  accessToken: 'the-token',
  board: { serial: 'S' },
  generation: 2,
};
const FORMER = '/state/outbox-of-former-device';

let files: MemoryFiles;
beforeEach(async () => {
  files = new MemoryFiles();
  await files.makeFolder('/state');
});

function openStore(): Promise<CredentialsStore> {
  const alerts = { raise: () => {}, clear: () => {} };
  return CredentialsStore.open({
    stateFolder: '/state',
    files,
    clock: new FakeClock(),
    log: silentLog,
    alerts,
    hide: () => {},
  });
}

async function start(): Promise<CredentialsStore> {
  const store = await openStore();
  await setFormerQueueAside({ stateFolder: '/state', files, store, log: silentLog });
  return store;
}

it('is set aside whole, in place of what was set aside before, and once', async () => {
  files.put('/state/outbox/1.seg', 'measured as A');
  files.put('/state/outbox/set-aside/x', 'damaged as A');
  files.put(`${FORMER}/0.seg`, 'older');
  await (await openStore()).replaceOwn(RECORD, { setsQueueAside: true });
  const store = await start();
  expect(files.paths.filter((path) => !path.includes('credentials'))).toEqual([
    `${FORMER}/1.seg`,
    `${FORMER}/set-aside/x`,
  ]);
  expect(store.setsQueueAside).toBe(false);
  files.put('/state/outbox/2.seg', 'measured as B');
  await start();
  expect(files.contentOf('/state/outbox/2.seg').toString()).toBe('measured as B');
  expect(files.contentOf(`${FORMER}/1.seg`).toString()).toBe('measured as A');
});

it('stays where nothing is to be set aside', async () => {
  files.put('/state/outbox/1.seg', 'measured as B');
  await (await openStore()).replaceOwn(RECORD);
  await start();
  expect(files.paths).toContain('/state/outbox/1.seg');
});

it('is no fault where nothing ever waited', async () => {
  await (await openStore()).replaceOwn(RECORD, { setsQueueAside: true });
  expect((await start()).setsQueueAside).toBe(false);
});

it('is set aside by the next start where a disk refused a step or the power went at it', async () => {
  for (const keeps of [true, false])
    for (let step = 0; ; step += 1) {
      files = new MemoryFiles();
      await files.makeFolder('/state');
      files.put('/state/outbox/1.seg', 'measured as A');
      files.put(`${FORMER}/0.seg`, 'older');
      await (await openStore()).replaceOwn(RECORD, { setsQueueAside: true });
      let left = step;
      files.faults = { fail: () => (left-- === 0 ? { code: 'EIO' } : undefined) };
      const outcome = await start().then(
        (store) => (store.setsQueueAside ? 'not yet' : 'done'),
        () => 'failed',
      );
      files.faults = {};
      files.cutPower(() => keeps);
      // Nobody opens an outbox before it is done.
      if (outcome === 'done') files.put('/state/outbox/2.seg', 'measured as B');
      await start();
      const seen = files.paths.filter(
        (path) => path.includes('outbox') && !files.contentOf(path).equals(Buffer.from('older')),
      );
      const later = outcome === 'done' ? ['/state/outbox/2.seg'] : [];
      expect(new Set(seen), `${keeps} ${step} ${outcome}`).toEqual(new Set([`${FORMER}/1.seg`, ...later]));
      if (left > 0) break;
    }
});

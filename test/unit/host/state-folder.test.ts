import { beforeEach, expect, it } from 'vitest';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { AlertList } from '../../../src/host/alert-list.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFolder } from '../../../src/host/state-folder.ts';
import type { Held } from '../../../src/host/state-lock.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

let alerts: AlertList;
let lockSays: AgentError | undefined;
let runLockSays: AgentError | undefined;
let held: number;
let stops: number;
let clock: FakeClock;
let files: MemoryFiles;
beforeEach(() => {
  alerts = new AlertList(silentLog);
  lockSays = undefined;
  runLockSays = undefined;
  held = 0;
  stops = 0;
  clock = new FakeClock();
  files = new MemoryFiles();
});

function open(): Promise<StateFolder> {
  const takeLock = async (folder: string): Promise<Held> => {
    const says = folder === '/run' ? runLockSays : lockSays;
    if (says !== undefined) throw says;
    held += 1;
    return {
      close: async () => {
        held -= 1;
      },
    };
  };
  const machine = { files, takeLock, clock };
  return StateFolder.open({ path: '/state', runFolder: '/run', machine, alerts, onTaken: () => (stops += 1) });
}

const readOnly = new AgentError('host/write-failed', 'cannot write in the state folder /state: EROFS', {
  recovery: 'stop',
});
const another = new AgentError('host/already-running', 'another agent uses it', { recovery: 'stop' });

it('is taken once', async () => {
  const folder = await open();
  await folder.expectTaken();
  expect([held, alerts.list()]).toEqual([2, []]);
  await folder.close();
  expect(held).toBe(0);
});

it('that cannot be written is an alert until it can', async () => {
  lockSays = readOnly;
  const folder = await open();
  expect(alerts.list()).toEqual([
    'nothing is kept in the state folder, which is tried again: cannot write in the state folder /state: EROFS',
  ]);
  await expect(folder.expectTaken()).rejects.toBe(readOnly);
  expect(alerts.list()).toHaveLength(1);
  lockSays = undefined;
  await folder.expectTaken();
  expect([held, alerts.list(), stops]).toEqual([2, [], 0]);
});

it('of another agent ends the start', async () => {
  lockSays = another;
  await expect(open()).rejects.toBe(another);
});

it.each([
  ['kept apart by the disk', undefined],
  ['not kept apart by the disk', readOnly],
])('whose run folder another agent has ends the start, %s', async (_name, disk) => {
  lockSays = disk;
  runLockSays = another;
  await expect(open()).rejects.toBe(another);
  expect([held, stops]).toEqual([0, 0]);
});

it('whose run folder cannot be written is taken all the same', async () => {
  runLockSays = readOnly;
  await open();
  expect([held, alerts.list()]).toEqual([1, []]);
});

it('that another agent took meanwhile ends this one', async () => {
  lockSays = readOnly;
  const folder = await open();
  lockSays = another;
  await expect(folder.expectTaken()).rejects.toBe(another);
  expect(stops).toBe(1);
});

/** Nothing beneath the state folder answers before the returned function is called. */
function hanging(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  files.faults = { delay: (_operation, path) => (path === '/state' ? promise : undefined) };
  return resolve;
}

it('that does not answer holds up a start for two seconds, is an alert, and is taken once it answers', async () => {
  const answer = hanging();
  const opening = open();
  await clock.advance(2_000);
  const folder = await opening;
  expect([held, alerts.list()]).toEqual([1, ['nothing is kept in the state folder: the disk does not answer']]);
  const expected = folder.expectTaken();
  answer();
  await expected;
  expect([held, alerts.list(), stops]).toEqual([2, [], 0]);
});

it('that answers late that another agent has it ends this one', async () => {
  const answer = hanging();
  lockSays = another;
  const opening = open();
  await clock.advance(2_000);
  await opening;
  answer();
  await clock.advance(0);
  expect(stops).toBe(1);
});

it('that answers after a stop is let go again', async () => {
  const answer = hanging();
  const opening = open();
  await clock.advance(2_000);
  await (await opening).close();
  expect(held).toBe(0);
  answer();
  await clock.advance(0);
  expect(held).toBe(0);
});

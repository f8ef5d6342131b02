/** The local sockets come as soon as the run folder can be written, and go with the agent. */
import { beforeEach, expect, it } from 'vitest';
import { openControlSockets } from '../../../src/control-socket/control-sockets.ts';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { AlertList } from '../../../src/host/alert-list.ts';
import { AgentLog } from '../../../src/host/log.ts';
import type { Held } from '../../../src/host/state-lock.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { socketOperations } from '../../support/socket-operations.ts';

const never = new AbortController().signal;
const CANNOT = new AgentError('control-socket/cannot-listen', 'no space left', { recovery: 'stop' });

let clock: FakeClock;
let alerts: AlertList;
/** Results of each try to listen. */
let tries: PromiseWithResolvers<Held>[];
let closed: number;

const socket: Held = {
  close: async () => {
    closed += 1;
  },
};

beforeEach(() => {
  [clock, tries, closed] = [new FakeClock(), [], 0];
});

function open(): Promise<Held> {
  const log = new AgentLog({ level: 'error', clock, sink: { write: () => {} } });
  alerts = new AlertList(log);
  const listen = (): Promise<Held> => {
    const one = Promise.withResolvers<Held>();
    tries.push(one);
    return one.promise;
  };
  const machine = { clock, files: new MemoryFiles(), listen };
  return openControlSockets({ runFolder: '/run', machine, log, alerts, door: socketOperations({}) }, never);
}

/** The agent runs, and its sockets could not be opened at once. */
async function openWithout(): Promise<Held> {
  const opening = open();
  tries.at(-1)?.reject(CANNOT);
  return await opening;
}

it('are tried again every half minute, with an alarm until they are there', async () => {
  const doors = await openWithout();
  expect(alerts.list()).toEqual(['commands on this machine do not reach the agent: no space left']);
  await clock.advance(29_999);
  expect(tries.length).toBe(1);
  await clock.advance(1);
  tries[1]?.reject(CANNOT);
  await clock.advance(30_000);
  expect(alerts.list().length).toBe(1);
  tries[2]?.resolve(socket);
  await clock.advance(60_000);
  expect([tries.length, alerts.list(), clock.pending, closed]).toEqual([3, [], 0, 0]);
  await doors.close();
  expect(closed).toBe(1);
});

it('are not tried again once the agent has ended, also when it ends during a try', async () => {
  await (await openWithout()).close();
  expect(clock.pending).toBe(0);
  const doors = await openWithout();
  await clock.advance(30_000);
  await doors.close();
  tries.at(-1)?.reject(CANNOT);
  await clock.advance(60_000);
  expect(clock.pending).toBe(0);
});

it('that come when the agent has ended do not stay: nobody would answer on them, and the next start finds its place free', async () => {
  const doors = await openWithout();
  await clock.advance(30_000);
  await doors.close();
  tries[1]?.resolve(socket);
  await clock.advance(0);
  expect(closed).toBe(1);
});

it('do not hide a fault of another kind', async () => {
  const opening = open();
  tries[0]?.reject(new Error('a fault in the program'));
  await expect(opening).rejects.toThrow('a fault in the program');
});

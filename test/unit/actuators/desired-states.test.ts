/** What is kept of each actuator, where the file does not tell it. */
import { expect, it } from 'vitest';
import { DESIRED_STATES_FORMAT, DesiredStates } from '../../../src/actuators/desired-states.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/host/state-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

it('counts as switched just now what the lost file may have known, and as never switched what no file knew', async () => {
  const files = new MemoryFiles();
  const clock = new FakeClock({ monotonicMs: 50_000 });
  const open = (): Promise<DesiredStates> =>
    DesiredStates.open(new StateFile({ ...DESIRED_STATES_FORMAT, path: '/state/actuators.json', files, clock, log: silentLog }), clock);
  const first = await open();
  expect(first.get('relay')).toBeUndefined();
  const state = { value: true, history: { changedAtMs: 20_000, switchedOnAtMs: [20_000] } };
  first.set('relay', state);
  await first.close();
  files.faults = { fail: (operation) => (operation === 'open' ? { code: 'EMFILE' } : undefined) };
  const opening = open();
  await clock.advance(1_000);
  expect((await opening).get('relay')).toEqual({ value: undefined, history: { changedAtMs: 51_000, switchedOnAtMs: [] } });
  files.faults = {};
  expect((await open()).get('relay')).toEqual(state);
});

it('tells no wish where a later one did not come onto the disk', async () => {
  const files = new MemoryFiles();
  const clock = new FakeClock({ monotonicMs: 50_000 });
  const open = (): Promise<DesiredStates> => {
    const paths = { path: '/state/actuators.json', behindMark: '/run/behind/actuators.json' };
    return DesiredStates.open(new StateFile({ ...DESIRED_STATES_FORMAT, ...paths, files, clock, log: silentLog }), clock);
  };
  const first = await open();
  const history = { changedAtMs: 20_000, switchedOnAtMs: [20_000] };
  first.set('relay', { value: true, history });
  await clock.advance(0);
  files.faults = { fail: (operation, path) => (operation === 'write' && path.startsWith('/state') ? { code: 'ENOSPC' } : undefined) };
  first.set('relay', { value: false, history });
  await first.close();
  expect((await open()).get('relay')).toEqual({ value: undefined, history: { changedAtMs: 50_000, switchedOnAtMs: [] } });
});

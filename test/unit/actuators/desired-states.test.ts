/** What is kept of each actuator, where the file does not tell it. */
import { describe, expect, it } from 'vitest';
import type { ActuatorSettings } from '../../../src/actuators/actuator.ts';
import { DESIRED_STATES_FORMAT, DesiredStates } from '../../../src/actuators/desired-states.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/host/state-file.ts';
import { ActuatorBench } from '../../support/actuator-bench.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
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
  const unread = await opening;
  expect([unread.get('relay'), unread.lostAtMs]).toEqual([undefined, 51_000]);
  files.faults = {};
  const read = await open();
  expect([read.get('relay'), read.lostAtMs]).toEqual([state, undefined]);
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
  const after = await open();
  expect([after.get('relay'), after.lostAtMs]).toEqual([undefined, 50_000]);
});

it('takes out of the file what no longer counts, so that no reboot counts it, and nothing sooner', async () => {
  const HOUR_MS = 3_600_000;
  const files = new MemoryFiles();
  const clock = new FakeClock({ monotonicMs: 50_000 });
  const open = (): Promise<DesiredStates> =>
    DesiredStates.open(new StateFile({ ...DESIRED_STATES_FORMAT, path: '/state/actuators.json', files, clock, log: silentLog }), clock);
  const kept = (): unknown => JSON.parse(files.contentOf('/state/actuators.json').toString()).state.actuators.relay.switchedOnAtMs;
  const first = await open();
  first.set('relay', { value: true, history: { changedAtMs: 50_000, switchedOnAtMs: [20_000, 50_000] } });
  await clock.advance(HOUR_MS - 1);
  expect(kept()).toEqual([20_000, 50_000]);
  clock.reboot({ bootId: 'boot-2', monotonicMs: 30_000 });
  const second = await open();
  expect(second.get('relay')?.history.switchedOnAtMs).toEqual([0, 0]);
  await clock.advance(HOUR_MS - 30_001);
  clock.reboot({ bootId: 'boot-3', monotonicMs: 30_000 });
  const third = await open();
  expect(third.get('relay')?.history.switchedOnAtMs).toEqual([0, 0]);
  await clock.advance(HOUR_MS);
  expect(kept()).toEqual([]);
  const writes = files.changes.length;
  await clock.advance(10 * HOUR_MS);
  expect([files.changes.length, clock.pending]).toEqual([writes, 0]);
  clock.reboot({ bootId: 'boot-4', monotonicMs: 30_000 });
  expect((await open()).get('relay')).toEqual({ value: true, history: { changedAtMs: 0, switchedOnAtMs: [] } });
});

it('takes out what came to count no longer while nothing ran, and writes nothing once it is closed', async () => {
  const files = new MemoryFiles();
  const clock = new FakeClock({ monotonicMs: 50_000 });
  const open = (): Promise<DesiredStates> =>
    DesiredStates.open(new StateFile({ ...DESIRED_STATES_FORMAT, path: '/state/actuators.json', files, clock, log: silentLog }), clock);
  const first = await open();
  first.set('relay', { value: true, history: { changedAtMs: 50_000, switchedOnAtMs: [50_000] } });
  await first.close();
  expect(clock.pending).toBe(0);
  await clock.advance(4_000_000);
  await open();
  await clock.advance(0);
  const { state } = JSON.parse(files.contentOf('/state/actuators.json').toString());
  expect(state).toEqual({ bootId: 'boot-1', actuators: { relay: { value: true, changedAtMs: 50_000, switchedOnAtMs: [] } } });
});

it('counts what a damaged file may have known as switched, in the next process too, and for an hour', async () => {
  const files = new MemoryFiles();
  const clock = new FakeClock({ monotonicMs: 50_000 });
  const PATH = '/state/actuators.json';
  const open = (): Promise<DesiredStates> =>
    DesiredStates.open(new StateFile({ ...DESIRED_STATES_FORMAT, path: PATH, files, clock, log: silentLog }), clock);
  const first = await open();
  first.set('relay', { value: true, history: { changedAtMs: 20_000, switchedOnAtMs: [20_000] } });
  await first.close();
  files.put(PATH, files.contentOf(PATH).toString().replace('20000', '20001'));
  expect((await open()).lostAtMs).toBe(50_000);
  await clock.advance(10_000);
  const second = await open();
  expect(second.lostAtMs).toBe(50_000);
  second.set('valve', { value: true, history: { changedAtMs: 60_000, switchedOnAtMs: [] } });
  await clock.advance(0);
  clock.reboot({ bootId: 'boot-2', monotonicMs: 30_000 });
  const third = await open();
  expect([third.lostAtMs, third.get('valve')?.value]).toEqual([0, true]);
  await clock.advance(3_600_000);
  expect((await open()).lostAtMs).toBeUndefined();
});

describe('an actuator whose past is lost', () => {
  const PATH = '/state/actuators.json';
  const restart = async (bench: ActuatorBench, settings: ActuatorSettings, spoil = (): void => {}): Promise<void> => {
    await bench.control.close();
    spoil();
    const opening = bench.open(settings);
    await bench.clock.advance(2_000);
    await opening;
  };

  it('may have been switched as often as its limits count, for an hour, in the next process too', async () => {
    const bench = new ActuatorBench();
    const settings = relaySettings('pump', { limits: { maxSwitchesPerHour: 2, minOffMs: 60_000 } });
    await bench.open(settings);
    expect(await bench.set('pump', true)).toBe('moved');
    expect(await bench.set('pump', false)).toBe('moved');
    await restart(bench, settings, () => bench.files.put(PATH, 'x'));
    expect(await bench.set('pump', true)).toBe('actuators/min-off');
    await restart(bench, settings);
    expect(await bench.set('pump', true)).toBe('actuators/min-off');
    await bench.clock.advance(60_000);
    expect(await bench.set('pump', true)).toBe('actuators/too-many-switches');
    await restart(bench, settings);
    expect(await bench.set('pump', true)).toBe('actuators/too-many-switches');
    await bench.clock.advance(3_600_000);
    expect(await bench.set('pump', true)).toBe('moved');
  });

  it.each([{ restore: true }, { limits: { minOffMs: 600_000 } }, { limits: { maxSwitchesPerHour: 2 } }])(
    'has it again with %j where the file can be read at the next start, and nothing was learned meanwhile',
    async (changes) => {
      const bench = new ActuatorBench();
      const settings = relaySettings('pump', changes);
      await bench.open(settings);
      await bench.set('pump', true);
      await bench.set('pump', false);
      await bench.clock.advance(1_000);
      const kept = bench.files.contentOf(PATH);
      bench.files.faults = { fail: (operation, path) => (operation === 'open' && path === PATH ? { code: 'EMFILE' } : undefined) };
      await restart(bench, settings);
      bench.files.faults = {};
      await bench.control.close();
      await bench.clock.advance(1_000);
      expect([bench.files.contentOf(PATH), bench.files.paths.filter((path) => path.startsWith('/state/'))]).toEqual([kept, [PATH]]);
    },
  );
});

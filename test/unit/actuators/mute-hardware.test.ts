/** Hardware that does what it is told and does not say so, or does nothing: when it is switched off all the same. */
import { beforeEach, expect, it } from 'vitest';
import type { ActuatorDriver, ActuatorValue } from '../../../src/actuators/kind/actuator.ts';
import { ActuatorBench } from '../../support/actuator-bench.ts';
import { relaySettings } from '../../support/fake-actuator.ts';

const DEADLINE_MS = 5_000;

/** Moves at once; writes and reads are answered, and heard of, as the test says. */
class MuteActuator implements ActuatorDriver {
  shown: ActuatorValue = false;
  moves = true;
  answersWrites = true;
  answersReads = true;
  /** Whether a write ends when nobody waits for it any longer. */
  letsGo = false;
  readonly told: { readonly value: ActuatorValue; readonly atMs: number }[] = [];
  /** Answer the writes that were not answered. */
  readonly late: (() => void)[] = [];
  readonly endedReads: number[] = [];

  async write(value: ActuatorValue, signal: AbortSignal): Promise<void> {
    this.told.push({ value, atMs: nowMs() });
    if (this.moves) this.shown = value;
    if (this.answersWrites) return;
    await new Promise<void>((resolve, reject) => {
      this.late.push(resolve);
      if (this.letsGo) signal.addEventListener('abort', () => reject(new Error('late')));
    });
  }

  readonly read = async (signal: AbortSignal): Promise<ActuatorValue> => {
    signal.addEventListener('abort', () => this.endedReads.push(nowMs()), { once: true });
    return this.answersReads ? this.shown : await new Promise(() => {});
  };

  async close(): Promise<void> {}
}

let bench: ActuatorBench;
let valve: MuteActuator;
let beganMs: number;
const nowMs = (): number => bench.clock.monotonicMs() - beganMs;
const offs = (): readonly number[] => valve.told.filter(({ value }) => value === false).map(({ atMs }) => atMs);

beforeEach(async () => {
  bench = new ActuatorBench();
  beganMs = bench.clock.monotonicMs();
  valve = new MuteActuator();
  bench.drivers.valve = valve;
});

async function open(maxOnMs?: number): Promise<void> {
  await bench.open(
    relaySettings('valve', { deadlineMs: DEADLINE_MS, limits: maxOnMs === undefined ? {} : { maxOnMs } }),
  );
}

it('a pulse of which nothing is heard is ended when its switching-on has failed, whether or not the hardware can be asked', async () => {
  await open();
  [valve.answersWrites, valve.answersReads] = [false, false];
  void bench.pulse('valve', 1_000);
  await bench.clock.advance(DEADLINE_MS + 1_000);
  expect([valve.shown, offs().length]).toEqual([false, 1]);
});

it('a pulse that cannot be read back ends at its time', async () => {
  await open();
  valve.answersReads = false;
  const pulse = bench.pulse('valve', 500);
  await bench.clock.advance(500);
  expect([valve.shown, offs()]).toEqual([false, [500]]);
  await bench.clock.advance(DEADLINE_MS);
  expect(await pulse).toBe('moved');
});

it('a pulse is not drawn out by another while nobody knows whether it is over', async () => {
  await open();
  await bench.pulse('valve', 8_000);
  valve.answersReads = false;
  void bench.control.read('valve', new AbortController().signal);
  await bench.clock.advance(DEADLINE_MS);
  expect([bench.control.state('valve').value, await bench.pulse('valve', 8_000)]).toEqual([
    undefined,
    'actuators/already-on',
  ]);
  await bench.clock.advance(2 * DEADLINE_MS);
  expect([bench.control.state('valve').value, valve.shown]).toEqual([false, false]);
});

it('a pulse that waited for the end of another does not begin when that one refuses to end', async () => {
  await open();
  await bench.pulse('valve', 8_000);
  [valve.moves, valve.answersWrites, valve.letsGo] = [false, false, true];
  void bench.set('valve', false);
  const next = bench.pulse('valve', 8_000);
  await bench.clock.advance(DEADLINE_MS + 1_000);
  expect(await next).toBe('actuators/already-on');
  [valve.moves, valve.answersWrites] = [true, true];
  await bench.clock.advance(DEADLINE_MS + 1_000);
  expect([valve.shown, bench.control.state('valve').value]).toEqual([false, false]);
  const again = bench.pulse('valve', 8_000);
  await bench.clock.advance(1_000);
  expect(await again).toBe('moved');
});

it('a longest time on ends at its time, beside a switching-on that is still under way', async () => {
  await open(2_000);
  [valve.answersWrites, valve.answersReads] = [false, false];
  const on = bench.set('valve', true);
  await bench.clock.advance(2_500);
  expect([valve.shown, offs()]).toEqual([false, [2_200]]);
  expect(await on).toBe('actuators/overridden');
});

it('what is switched off lets go at once of what is still being read back', async () => {
  await open();
  valve.answersReads = false;
  const on = bench.set('valve', true);
  await bench.clock.advance(1_000);
  void bench.set('valve', false);
  await bench.clock.advance(0);
  expect([valve.endedReads, offs()]).toEqual([[1_000], [1_000]]);
  expect(await on).toBe('moved');
});

it('off that does nothing and is not answered is said and tried again soon after its deadline', async () => {
  await open();
  await bench.set('valve', true);
  [valve.moves, valve.answersWrites, valve.answersReads] = [false, false, false];
  void bench.set('valve', false);
  await bench.clock.advance(DEADLINE_MS + 1_000);
  expect(bench.alarms).toEqual([['valve', 'valve does not switch off: valve did not answer within 5000 ms']]);
  await bench.clock.advance(60_000);
  expect(Math.max(...offs().map((atMs, n) => atMs - (offs()[n - 1] ?? 0)))).toBeLessThanOrEqual(DEADLINE_MS + 1_000);
});

it('writes that never end are forgotten: once they are, nothing waits for them any longer', async () => {
  await open();
  [valve.moves, valve.answersWrites, valve.answersReads] = [false, false, false];
  void bench.set('valve', false);
  await bench.clock.advance(600_000);
  [valve.moves, valve.answersWrites, valve.answersReads] = [true, true, true];
  await bench.clock.advance(70_000);
  expect(bench.control.state('valve').value).toBe(false);
  const askedMs = nowMs();
  void bench.set('valve', true);
  await bench.clock.advance(0);
  expect(valve.told.at(-1)).toEqual({ value: true, atMs: askedMs });
});

it('off that was not taken is not repeated before whoever has asked for on since, and only waits for their turn', async () => {
  await open();
  await bench.set('valve', true);
  [valve.moves, valve.answersWrites, valve.answersReads] = [false, false, false];
  void bench.set('valve', false);
  await bench.clock.advance(DEADLINE_MS - 1_000);
  const on = bench.set('valve', true);
  [valve.moves, valve.answersWrites] = [true, true];
  await bench.clock.advance(60_000);
  expect(await on).toBe('moved');
  expect([valve.told.map(({ value }) => value), bench.control.state('valve').desired]).toEqual([
    [true, false, true],
    true,
  ]);
});

/** It has taken off once, and shown that it is on. */
async function refuseOff(): Promise<void> {
  await open();
  await bench.set('valve', true);
  valve.moves = false;
  expect(await bench.set('valve', false)).toBe('actuators/not-moved');
  valve.answersReads = false;
}

it('off that was taken and not shown is tried until it is shown, whatever is taken meanwhile', async () => {
  await refuseOff();
  await bench.clock.advance(60_000);
  expect(bench.control.state('valve')).toMatchObject({
    value: undefined,
    fault: 'did not move when it was set to off',
  });
  const asked = bench.set('valve', false);
  await bench.clock.advance(DEADLINE_MS);
  expect([await asked, bench.alarms.length]).toEqual(['actuators/not-moved', 1]);
  [valve.moves, valve.answersReads] = [true, true];
  await bench.clock.advance(10_000);
  expect([valve.shown, bench.control.state('valve').fault, bench.alarms.at(-1)]).toEqual([
    false,
    undefined,
    ['valve', undefined],
  ]);
  const tries = valve.told.length;
  await bench.clock.advance(60_000);
  expect(valve.told.length).toBe(tries);
});

it('off that was taken and not shown is not believed when it is taken late either', async () => {
  await refuseOff();
  valve.answersWrites = false;
  // Nobody waits for it any longer, nor for what it shows, and the next has not been begun.
  await bench.clock.advance(DEADLINE_MS + 650);
  valve.late.at(-1)?.();
  await bench.clock.advance(0);
  expect([bench.control.state('valve').value, bench.alarms.length]).toEqual([undefined, 1]);
  [valve.moves, valve.answersWrites, valve.answersReads] = [true, true, true];
  await bench.clock.advance(10_000);
  expect([valve.shown, bench.alarms.at(-1)]).toEqual([false, ['valve', undefined]]);
});

it.each([true, false])('what is taken late is believed no sooner than it is shown, at %s', async (at) => {
  await open();
  await bench.set('valve', at);
  await bench.control.release('valve');
  [valve.moves, valve.answersWrites] = [false, false];
  const moving = bench.set('valve', !at);
  await bench.clock.advance(DEADLINE_MS);
  expect(await moving).toBe('actuators/deadline-passed');
  const alarms = bench.alarms.length;
  for (let second = 0; second < 120; second += 1) {
    await bench.clock.advance(1_000);
    for (const answer of valve.late.splice(0)) answer();
    await bench.clock.advance(0);
    expect([undefined, at]).toContain(bench.control.state('valve').value);
  }
  expect([bench.control.state('valve').fault, bench.alarms.length]).toEqual([
    expect.stringMatching(/shows|did not answer/),
    alarms,
  ]);
  expect(bench.alarms.at(-1)?.[1]).toEqual(at ? expect.stringContaining('does not switch off') : undefined);
  [valve.moves, valve.answersWrites] = [true, true];
  await bench.clock.advance(10_000);
  expect([valve.shown, bench.alarms.at(-1)?.[1]]).toEqual([false, undefined]);
});

it('off that was taken late and not shown is not believed unread from then on', async () => {
  await open();
  await bench.set('valve', true);
  [valve.moves, valve.answersWrites] = [false, false];
  void bench.set('valve', false);
  await bench.clock.advance(DEADLINE_MS + 10);
  valve.late.at(-1)?.();
  await bench.clock.advance(0);
  expect(bench.control.state('valve')).toMatchObject({ value: true, fault: 'shows on, was set to off' });
  [valve.answersWrites, valve.answersReads] = [true, false];
  await bench.clock.advance(60_000);
  expect([bench.control.state('valve').value, bench.alarms.length]).toEqual([undefined, 1]);
});

it('off of what moved by itself to what it was not told is not believed unread either', async () => {
  bench.drivers.fan = valve;
  await bench.open(relaySettings('fan', { valueType: 'number', deadlineMs: DEADLINE_MS }));
  await bench.set('fan', 50);
  valve.moves = false;
  expect(await bench.set('fan', 80)).toBe('actuators/not-moved');
  valve.shown = 40;
  await bench.control.read('fan', new AbortController().signal);
  valve.answersReads = false;
  const off = bench.set('fan', 0);
  await bench.clock.advance(DEADLINE_MS + 1_000);
  expect([await off, bench.control.state('fan').value]).toEqual(['actuators/not-moved', undefined]);
});

it.each(['written', 'read'])(
  'off that was taken and not shown is believed again once it is shown, when it is %s',
  async (when) => {
    await refuseOff();
    valve.answersReads = true;
    if (when === 'read') {
      valve.shown = false;
      await bench.control.read('valve', new AbortController().signal);
    }
    valve.moves = true;
    await bench.clock.advance(10_000);
    expect(bench.alarms.at(-1)).toEqual(['valve', undefined]);
    valve.answersReads = false;
    const on = bench.set('valve', true);
    await bench.clock.advance(DEADLINE_MS);
    const off = bench.set('valve', false);
    await bench.clock.advance(DEADLINE_MS);
    expect([await on, await off, bench.control.state('valve').value]).toEqual(['moved', 'moved', false]);
  },
);

it('on that was not shown, tried again and overtaken by off while it is read back, was overtaken, and did not fail', async () => {
  await open();
  valve.moves = false;
  expect(await bench.set('valve', true)).toBe('actuators/not-moved');
  [valve.moves, valve.answersReads] = [true, false];
  const on = bench.set('valve', true);
  await bench.clock.advance(1_000);
  valve.answersReads = true;
  const off = bench.set('valve', false);
  await bench.clock.advance(1_000);
  expect([await on, await off, valve.shown]).toEqual(['actuators/overridden', 'moved', false]);
});

it('off of what stood still at a number is not believed unread, whatever else it was told since', async () => {
  bench.drivers.fan = valve;
  await bench.open(relaySettings('fan', { valueType: 'number', deadlineMs: DEADLINE_MS }));
  await bench.set('fan', 50);
  valve.moves = false;
  expect([await bench.set('fan', 0), await bench.set('fan', 60)]).toEqual([
    'actuators/not-moved',
    'actuators/not-moved',
  ]);
  valve.answersReads = false;
  const off = bench.set('fan', 0);
  await bench.clock.advance(60_000);
  expect([await off, bench.control.state('fan').value, bench.alarms.at(-1)]).toEqual([
    'actuators/not-moved',
    undefined,
    ['fan', expect.stringContaining('does not switch off')],
  ]);
  [valve.moves, valve.answersReads] = [true, true];
  await bench.clock.advance(10_000);
  expect([valve.shown, bench.alarms.at(-1)]).toEqual([0, ['fan', undefined]]);
});

it.each([false, true])(
  'what stands at %s is not believed to have moved from there unread, whatever was told and shown there meanwhile',
  async (at) => {
    await open();
    await bench.set('valve', at);
    valve.moves = false;
    expect([await bench.set('valve', !at), await bench.set('valve', at)]).toEqual(['actuators/not-moved', 'moved']);
    await bench.control.release('valve');
    valve.answersReads = false;
    const again = bench.set('valve', !at);
    await bench.clock.advance(DEADLINE_MS + 1_000);
    expect([await again, bench.control.state('valve').value]).toEqual(['actuators/not-moved', undefined]);
  },
);

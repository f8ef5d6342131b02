/** One pin's record by itself: what is known after each step of a write, since when it may be on, and when it has to be off. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Claim, Pulse } from '../../../src/actuators/claim.ts';
import type { ActuatorSettings } from '../../../src/actuators/kind/actuator.ts';
import { PinRecord } from '../../../src/actuators/pin-record.ts';
import type { OnMark } from '../../../src/actuators/pulse-marks.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

let clock: FakeClock;
/** Every limit that asks for the past. */
const EVERY = { minOnMs: 1, minOffMs: 1, maxSwitchesPerHour: 100 };
const NONE = { changedAtMs: undefined, switchedOnAtMs: [] };

beforeEach(() => {
  clock = new FakeClock({ monotonicMs: 1_000 });
});

function record(changes: Partial<ActuatorSettings> = {}, left?: OnMark): PinRecord {
  return new PinRecord({ settings: relaySettings('pin', changes), clock, history: NONE, left });
}

/** Known to be off since now. */
function off(changes: Partial<ActuatorSettings> = {}): PinRecord {
  const pin = record(changes);
  pin.learn(false);
  return pin;
}

function pulseOf(durationMs: number): Pulse & { ended: number } {
  const onEnd = (): void => {
    pulse.ended += 1;
  };
  const pulse = { durationMs, ended: 0, onEnd };
  return pulse;
}

describe('what a pin may be', () => {
  it('is on until it is known to be off', () => {
    const pin = record();
    expect([pin.value, pin.mayBeOn, pin.mayBeActive]).toEqual([undefined, true, true]);
    pin.learn(false);
    expect([pin.value, pin.mayBeOn, pin.mayBeActive]).toEqual([false, false, false]);
    pin.learn(true);
    expect([pin.mayBeOn, pin.mayBeActive]).toEqual([true, true]);
    pin.lose('bus busy');
    expect([pin.value, pin.mayBeOn, pin.state.fault]).toEqual([undefined, true, 'bus busy']);
    pin.learn(false);
    expect(pin.state.fault).toBeUndefined();
  });

  it('is about to be on from the claim to its giving back', () => {
    const pin = off();
    const claim = pin.claim(true);
    expect([pin.mayBeOn, pin.mayBeActive, pin.expected]).toEqual([false, true, true]);
    pin.giveBack(claim);
    expect([pin.mayBeActive, pin.expected]).toEqual([false, false]);
    pin.claim(false);
    expect([pin.mayBeActive, pin.expected]).toEqual([false, false]);
  });

  it('is what was claimed last, once all is done', () => {
    const pin = off();
    pin.claim(true);
    const last = pin.claim(false);
    expect(pin.expected).toBe(false);
    pin.giveBack(last);
    expect(pin.expected).toBe(true);
  });

  it('is on while the hardware still has a write that nobody waits for, whatever it shows', () => {
    const pin = off();
    const claim = pin.claim(true);
    pin.begin(claim);
    pin.giveBack(claim);
    pin.learn(false);
    expect([pin.mayBeOn, pin.mayBeActive, pin.lastBegun]).toEqual([true, true, claim]);
    pin.release(claim);
    expect([pin.mayBeOn, pin.mayBeActive]).toEqual([false, false]);
  });

  it('is what the hardware took, also late', () => {
    const pin = off();
    const claim = pin.claim(true);
    pin.begin(claim);
    pin.lose('given up');
    pin.giveBack(claim);
    pin.took(claim);
    expect([pin.value, pin.state.fault, pin.mayBeActive]).toEqual([true, undefined, true]);
    pin.learn(false);
    expect(pin.mayBeActive).toBe(false);
  });

  it('is a level too, and a text', () => {
    const pin = record({ valueType: 'number' });
    pin.learn(0);
    expect(pin.mayBeOn).toBe(false);
    pin.learn(1);
    expect(pin.mayBeOn).toBe(true);
    pin.learn('');
    expect(pin.mayBeOn).toBe(false);
    pin.learn('x');
    expect(pin.mayBeOn).toBe(true);
  });
});

describe('a pulse that never began', () => {
  const startedLate = (): { pin: PinRecord; late: Claim; pulse: { ended: number } } => {
    const pin = off();
    const pulse = pulseOf(1_000);
    const late = pin.claim(true, pulse);
    pin.begin(late);
    pin.lose('no answer');
    pin.giveBack(late);
    return { pin, late, pulse };
  };

  it('has no say once somebody else has switched on and it cannot begin any more, whether or not that was answered', () => {
    const { pin, late, pulse } = startedLate();
    const on = pin.claim(true);
    pin.begin(on);
    pin.release(on);
    pin.learn(true, 'bus error');
    expect([pin.state.pulsing, pulse.ended]).toEqual([true, 0]);
    pin.release(late);
    expect([pin.state.pulsing, pulse.ended, pin.mark]).toEqual([false, 1, undefined]);
  });

  it('stays until it is known to be off when it was switched off', () => {
    const { pin, late } = startedLate();
    const down = pin.claim(false);
    pin.begin(down);
    pin.release(down);
    pin.release(late);
    expect([pin.state.pulsing, pin.mark?.pulse]).toEqual([true, true]);
    pin.learn(false);
    expect(pin.state.pulsing).toBe(false);
  });
});

describe('what is wanted of a pin', () => {
  it('is of the last writer, and each write counts once', () => {
    const pin = off();
    expect([pin.writes, pin.state.desired, pin.state.by, pin.refusesOff]).toEqual([0, undefined, undefined, false]);
    pin.want(true, 'rpc');
    pin.want(false, 'rule');
    expect([pin.writes, pin.state.desired, pin.state.by]).toEqual([2, false, 'rule']);
    pin.want(false, 'rule', { repeats: true });
    expect(pin.writes).toBe(2);
  });

  it('is refused when it is off and the pin is not known to be', () => {
    const pin = record();
    expect(pin.refusesOff).toBe(false);
    pin.want(true, 'rpc');
    expect(pin.refusesOff).toBe(false);
    pin.want(false, 'rpc');
    expect(pin.refusesOff).toBe(true);
    pin.learn(true);
    expect(pin.refusesOff).toBe(true);
    pin.learn(false);
    expect(pin.refusesOff).toBe(false);
  });
});

describe('the time on of a pin', () => {
  const limits = { limits: { maxOnMs: 10_000 } };

  it('is counted from when it first may have been on', async () => {
    const pin = off(limits);
    expect([pin.offDueMs, pin.mark]).toEqual([undefined, undefined]);
    await clock.advance(1_000);
    const claim = pin.claim(true);
    expect([pin.offDueMs, pin.mark]).toEqual([undefined, { sinceMs: 2_000, pulse: false }]);
    pin.begin(claim);
    await clock.advance(500);
    pin.took(claim);
    expect([pin.offDueMs, pin.mark]).toEqual([12_000, { sinceMs: 2_000, pulse: false }]);
    await clock.advance(500);
    pin.lose('bus busy');
    pin.learn(true);
    expect(pin.offDueMs).toBe(12_000);
    pin.learn(false);
    expect([pin.offDueMs, pin.mark]).toEqual([undefined, undefined]);
    pin.learn(true);
    expect(pin.offDueMs).toBe(13_000);
  });

  it('is counted from an earlier process’s mark, or from now where nobody knows', () => {
    expect(record(limits, { sinceMs: 400, pulse: false }).offDueMs).toBe(10_400);
    expect(record(limits).offDueMs).toBe(11_000);
    expect(record().offDueMs).toBeUndefined();
  });

  it('counts from now where an earlier process says that it began later', () => {
    const pin = record({ limits: { maxOnMs: 60_000 } }, { sinceMs: 3_600_000, pulse: false });
    expect([pin.offDueMs, pin.mark?.sinceMs]).toEqual([61_000, 1_000]);
  });

  it('leaves a mark of a pulse where an earlier process left one, until it is known to be off, or on as somebody wants it', () => {
    for (const changes of [{}, limits]) {
      const pin = record(changes, { sinceMs: 400, pulse: true });
      const inPulse = { sinceMs: 400, pulse: true };
      expect(pin.mark).toEqual(inPulse);
      pin.learn(true);
      expect(pin.mark).toEqual(inPulse);
      const failed = pin.claim(true);
      pin.want(true, 'rpc');
      pin.begin(failed);
      pin.lose('no answer', failed);
      expect(pin.mark).toEqual(inPulse);
      pin.learn(true);
      expect(pin.mark?.pulse ?? false).toBe(false);
      const ended = record(changes, { sinceMs: 400, pulse: true });
      ended.learn(false);
      ended.lose('no answer');
      expect(ended.mark?.pulse ?? false).toBe(false);
    }
  });

  it('leaves a mark that says to switch off while off is refused', () => {
    for (const changes of [{}, limits]) {
      const pin = record(changes, { sinceMs: 400, pulse: false });
      pin.lose('no answer');
      pin.want(false, 'rpc');
      expect(pin.mark).toEqual({ sinceMs: 400, pulse: true });
      pin.want(true, 'rpc');
      expect(pin.mark?.pulse ?? false).toBe(false);
    }
    const text = record({ valueType: 'string' });
    text.want('', 'rpc');
    expect([text.refusesOff, text.mark]).toEqual([true, undefined]);
  });

  it('leaves no mark where nobody has to switch off', () => {
    const pin = record();
    pin.learn(true);
    expect(pin.mark).toBeUndefined();
  });

  it('ends with a pulse, counted from when the hardware took it', async () => {
    const pin = off();
    const pulse = pulseOf(700);
    const claim = pin.claim(true, pulse);
    expect([pin.mark, pin.state.pulsing, pin.offDueMs]).toEqual([{ sinceMs: 1_000, pulse: true }, false, undefined]);
    pin.begin(claim);
    expect([pin.state.pulsing, pin.offDueMs, pin.pulse]).toEqual([true, undefined, pulse]);
    await clock.advance(100);
    pin.took(claim);
    pin.giveBack(claim);
    expect([pin.offDueMs, pin.mark]).toEqual([1_800, { sinceMs: 1_000, pulse: true }]);
    pin.learn(false);
    expect([pulse.ended, pin.state.pulsing, pin.offDueMs, pin.mark]).toEqual([1, false, undefined, undefined]);
  });

  it('ends with whichever is first, the pulse or the longest time on', () => {
    for (const [durationMs, dueMs] of [
      [3_000, 4_000],
      [30_000, 11_000],
    ] as const) {
      const pin = off(limits);
      const claim = pin.claim(true, pulseOf(durationMs));
      pin.begin(claim);
      pin.took(claim);
      expect(pin.offDueMs).toBe(dueMs);
    }
  });

  it('is that of a pulse whose switching-on failed, until it is known to be off', () => {
    const pin = off();
    const pulse = pulseOf(1_000);
    const claim = pin.claim(true, pulse);
    pin.begin(claim);
    pin.lose('bus busy', claim);
    pin.giveBack(claim);
    expect([pin.state.pulsing, pin.mark?.pulse, pulse.ended]).toEqual([true, true, 0]);
    pin.learn(false);
    expect([pin.state.pulsing, pin.mark, pulse.ended]).toEqual([false, undefined, 1]);
  });

  it('is no longer that of a pulse once someone else has switched on, or another pulse has begun', () => {
    const pin = off();
    const [first, second] = [pulseOf(1_000), pulseOf(5_000)];
    const claim = pin.claim(true, first);
    pin.begin(claim);
    pin.took(claim);
    const next = pin.claim(true, second);
    pin.begin(next);
    expect([first.ended, second.ended, pin.pulse, pin.offDueMs]).toEqual([1, 0, second, undefined]);
    // Late news of the first one ends nothing.
    pin.took(claim);
    expect([pin.pulse, pin.offDueMs]).toEqual([second, undefined]);
    pin.took(next);
    expect(pin.offDueMs).toBe(6_000);
    const person = pin.claim(true);
    pin.begin(person);
    expect(pin.pulse).toBe(second);
    pin.took(person);
    expect([second.ended, pin.pulse, pin.offDueMs]).toEqual([1, undefined, undefined]);
  });
});

describe('what a pin remembers of its switching', () => {
  it('is when it was switched, and each switching on within the hour', async () => {
    const pin = off({ limits: EVERY });
    expect([pin.history, pin.changedAtMs]).toEqual([NONE, undefined]);
    const on = pin.claim(true);
    pin.begin(on);
    expect(pin.history).toEqual({ changedAtMs: 1_000, switchedOnAtMs: [1_000] });
    await clock.advance(100);
    pin.took(on);
    expect(pin.history).toEqual({ changedAtMs: 1_100, switchedOnAtMs: [1_000] });
    await clock.advance(100);
    const again = pin.claim(true);
    pin.begin(again);
    pin.took(again);
    expect(pin.history).toEqual({ changedAtMs: 1_100, switchedOnAtMs: [1_000] });
    const down = pin.claim(false);
    pin.begin(down);
    pin.took(down);
    expect([pin.history, pin.changedAtMs]).toEqual([{ changedAtMs: 1_200, switchedOnAtMs: [1_000] }, 1_200]);
  });

  it('counts what failed once, however often it is tried, and as switched when it was tried last', async () => {
    const pin = off({ limits: EVERY });
    for (let time = 0; time < 3; time += 1) {
      const claim = pin.claim(true);
      pin.begin(claim);
      pin.lose('bus busy');
      pin.release(claim);
      await clock.advance(100);
    }
    expect([pin.history, pin.changedAtMs]).toEqual([{ changedAtMs: 1_000, switchedOnAtMs: [1_000] }, 1_200]);
    const down = pin.claim(false);
    pin.begin(down);
    expect(pin.history).toEqual({ changedAtMs: 1_300, switchedOnAtMs: [1_000] });
    pin.took(down);
    const up = pin.claim(true);
    pin.begin(up);
    expect(pin.history.switchedOnAtMs).toEqual([1_000, 1_300]);
  });

  it('counts the first write to what was never known', () => {
    const pin = record({ limits: EVERY });
    const claim = pin.claim(true);
    pin.begin(claim);
    expect(pin.history).toEqual({ changedAtMs: 1_000, switchedOnAtMs: [1_000] });
    expect(pin.changedAtMs).toBe(1_000);
  });

  it('is of the last hour', async () => {
    const pin = off({ limits: EVERY });
    for (const waitMs of [3_599_999, 1]) {
      const on = pin.claim(true);
      pin.begin(on);
      pin.took(on);
      const down = pin.claim(false);
      pin.begin(down);
      pin.took(down);
      await clock.advance(waitMs);
    }
    const last = pin.claim(true);
    pin.begin(last);
    expect(pin.history.switchedOnAtMs).toEqual([3_600_999, 3_601_000]);
  });

  it.each([
    [{}, { changedAtMs: undefined, switchedOnAtMs: [] }],
    [
      { maxOnMs: 5_000, maxPulseMs: 1_000, min: 0 },
      { changedAtMs: undefined, switchedOnAtMs: [] },
    ],
    [{ minOnMs: 1 }, { changedAtMs: 1_010, switchedOnAtMs: [] }],
    [{ minOffMs: 1 }, { changedAtMs: 1_010, switchedOnAtMs: [] }],
    [{ maxSwitchesPerHour: 2 }, { changedAtMs: undefined, switchedOnAtMs: [1_006, 1_008] }],
    [{ maxSwitchesPerHour: 5 }, { changedAtMs: undefined, switchedOnAtMs: [1_000, 1_002, 1_004, 1_006, 1_008] }],
  ])('is no more than its limits %o ask for', async (limits, history) => {
    const pin = off({ limits });
    for (let time = 0; time < 10; time += 1) {
      const claim = pin.claim(time % 2 === 0);
      pin.begin(claim);
      await clock.advance(1);
      pin.took(claim);
    }
    expect(pin.history).toEqual(history);
    const { history: before } = pin;
    pin.begin(pin.claim(false));
    expect(pin.history).toBe(before);
  });
});

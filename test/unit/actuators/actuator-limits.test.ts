/** What an actuator may be asked for, and how often: each limit at its edge. */
import { expect, it } from 'vitest';
import { checkPulse, checkTimes, checkValue } from '../../../src/actuators/actuator-limits.ts';
import type { ActuatorLimits, ActuatorSettings, ActuatorValue } from '../../../src/actuators/kind/actuator.ts';
import { relaySettings } from '../../support/fake-actuator.ts';

const HOUR_MS = 3_600_000;

/** "passes", or the code and recovery of the refusal. */
function outcomeOf(check: () => unknown): unknown {
  try {
    check();
    return 'passes';
  } catch (error) {
    const { code, recovery } = error as { code: string; recovery: string };
    return `${code.replace('actuators/', '')} ${recovery}`;
  }
}

const NEVER = 'wrong-type drop';
const RANGE = 'out-of-range drop';

it('a value has the type, the range, the step and the length that are declared', () => {
  const takes = (valueType: ActuatorSettings['valueType'], limits: ActuatorLimits, ...values: unknown[]): unknown[] =>
    values.map((value) => outcomeOf(() => checkValue(relaySettings('a', { valueType, limits }), value)));
  expect(takes('boolean', {}, true, false, 2, 'up', null)).toEqual(['passes', 'passes', NEVER, NEVER, NEVER]);
  expect(takes('number', {}, -1e9, Number.NaN, Number.POSITIVE_INFINITY, '1 m')).toEqual([
    'passes',
    NEVER,
    NEVER,
    NEVER,
  ]);
  expect(takes('number', { min: 10, max: 20 }, 9.9, 10, 20, 20.1)).toEqual([RANGE, 'passes', 'passes', RANGE]);
  expect(takes('number', { min: 10, step: 0.1 }, 10, 10.3, 10.7, 10.75, 10.0999999)).toEqual([
    ...['passes', 'passes', 'passes', 'off-step drop', 'passes'],
  ]);
  expect(takes('number', { step: 5 }, 0, 5, -5, 7)).toEqual(['passes', 'passes', 'passes', 'off-step drop']);
  expect(takes('string', {}, '', 'x'.repeat(1_024), 'x'.repeat(1_025))).toEqual(['passes', 'passes', RANGE]);
  expect(takes('number', {}, 7)).toEqual(['passes']);
  expect(checkValue(relaySettings('a'), true)).toBe(true);
});

interface Given {
  readonly limits: ActuatorLimits;
  readonly expected?: ActuatorValue;
  readonly changedAtMs?: number;
  readonly switchedOnAtMs?: readonly number[];
  readonly offDueMs?: number;
  readonly lostAtMs?: number;
}

/** Asked at 10,000,000 ms since boot. */
function asked(
  { limits, expected, changedAtMs, switchedOnAtMs = [], offDueMs, lostAtMs }: Given,
  value: ActuatorValue,
): unknown {
  const pin = {
    settings: relaySettings('a', { limits }),
    expected,
    changedAtMs,
    offDueMs,
    lostAtMs,
    history: { changedAtMs, switchedOnAtMs },
  };
  return outcomeOf(() => checkTimes(pin, value, 10_000_000));
}

it('least times hold from the last switching, for whoever switches', () => {
  const limits = { minOnMs: 1_000, minOffMs: 2_000 };
  expect(asked({ limits, expected: true, changedAtMs: 9_999_001 }, false)).toBe('min-on retry');
  expect(asked({ limits, expected: true, changedAtMs: 9_999_000 }, false)).toBe('passes');
  expect(asked({ limits, expected: false, changedAtMs: 9_998_001 }, true)).toBe('min-off retry');
  expect(asked({ limits, expected: false, changedAtMs: 9_998_000 }, true)).toBe('passes');
  expect(asked({ limits, expected: true, changedAtMs: 9_999_999 }, true)).toBe('passes');
  expect(asked({ limits, expected: false, changedAtMs: 9_999_999 }, false)).toBe('passes');
  expect([asked({ limits, expected: false }, true), asked({ limits, expected: true }, false)]).toEqual([
    'passes',
    'passes',
  ]);
  expect(asked({ limits: {}, expected: false, changedAtMs: 10_000_000 }, true)).toBe('passes');
  expect(asked({ limits: {}, expected: true, changedAtMs: 10_000_000 }, false)).toBe('passes');
});

it('what is not known may always be switched off, and counts as switched when it was tried last', () => {
  const limits = { minOnMs: 1_000, minOffMs: 2_000 };
  expect(asked({ limits, changedAtMs: 9_999_999 }, false)).toBe('passes');
  expect(asked({ limits, changedAtMs: 9_998_001 }, true)).toBe('min-off retry');
  expect(asked({ limits, changedAtMs: 9_998_000 }, true)).toBe('passes');
});

it('switching on is counted within the hour, switching off is not', () => {
  const limits = { maxSwitchesPerHour: 2 };
  const recent = [10_000_000 - HOUR_MS + 1, 9_000_000];
  expect(asked({ limits, expected: false, switchedOnAtMs: recent }, true)).toBe('too-many-switches retry');
  expect(asked({ limits, expected: false, switchedOnAtMs: [10_000_000 - HOUR_MS, 9_000_000] }, true)).toBe('passes');
  expect(asked({ limits, expected: true, switchedOnAtMs: recent }, false)).toBe('passes');
  expect(asked({ limits, expected: true, switchedOnAtMs: recent }, true)).toBe('passes');
  expect(asked({ limits: {}, expected: false, switchedOnAtMs: recent }, true)).toBe('passes');
  expect(asked({ limits, switchedOnAtMs: recent }, true)).toBe('too-many-switches retry');
});

it('what has had its longest time on is not told to be on again', () => {
  const limits = { maxOnMs: 1_000 };
  for (const expected of [true, false, undefined]) {
    const given = expected === undefined ? { limits } : { limits, expected };
    expect(asked({ ...given, offDueMs: 10_000_000 }, true)).toBe('max-on retry');
    expect(asked({ ...given, offDueMs: 10_000_001 }, true)).toBe('passes');
    expect(asked({ ...given, offDueMs: 9_000_000 }, false)).toBe('passes');
  }
});

it('a pulse has a length, an actuator that switches, and begins at off', () => {
  const pulse = (durationMs: number, given: Partial<ActuatorSettings> = {}, expected?: ActuatorValue): unknown => {
    return outcomeOf(() =>
      checkPulse({ settings: relaySettings('a', given), value: expected, expected, isInPulse: false }, durationMs),
    );
  };
  expect([pulse(1), pulse(0.5), pulse(60_000), pulse(60_001), pulse(Number.NaN)]).toEqual([
    'passes',
    RANGE,
    'passes',
    RANGE,
    RANGE,
  ]);
  const limits = { minOnMs: 100, maxPulseMs: 200 };
  expect([99, 100, 200, 201].map((ms) => pulse(ms, { limits }))).toEqual([RANGE, 'passes', 'passes', RANGE]);
  expect([pulse(1, { valueType: 'number' }), pulse(1, { valueType: 'string' })]).toEqual([
    'no-pulse drop',
    'no-pulse drop',
  ]);
  expect([pulse(1, {}, true), pulse(1, {}, false)]).toEqual(['already-on drop', 'passes']);
});

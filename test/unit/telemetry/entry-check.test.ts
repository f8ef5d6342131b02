/** Entries before they are written down: nothing goes in that the platform would lose without a word. */
import { describe, expect, it } from 'vitest';
import type { Log } from '../../../src/host/log.ts';
import type { TelemetryEntry } from '../../../src/outbox/format/telemetry-entry.ts';
import { sendableKey } from '../../../src/platform/wire-values.ts';
import { EntryCheck } from '../../../src/telemetry/entry-check.ts';

const YEAR_10000_MS = 253_402_300_800_000;

function entry(change: Partial<TelemetryEntry>): TelemetryEntry {
  return { device: 'self', key: 'a', value: 1, bootId: 'boot', monotonicMs: 5, class: 'regular', ...change };
}

function checking(): { check: EntryCheck; told: string[] } {
  const told: string[] = [];
  const quiet = (): void => {};
  const warn = (details: object, message?: string): void => void told.push(`${JSON.stringify(details)} ${message}`);
  return { check: new EntryCheck({ debug: quiet, info: quiet, warn, error: quiet } as Log), told };
}

describe('an entry', () => {
  it('that the platform keeps as it is goes through as it is', () => {
    const { check, told } = checking();
    const entries = [entry({}), entry({ takenAtMs: 1_700_000_000_000 }), entry({ value: { deep: [2 ** 70] } })];
    const checked = check.check(entries);
    for (const [at, one] of entries.entries()) expect(checked[at]).toBe(one);
    expect(check.counts).toEqual({ renamed: 0, retimed: 0, asText: 0 });
    expect(told).toEqual([]);
  });

  it('with a key that would take its whole instant along gets one that the platform keeps', () => {
    const { check } = checking();
    const [first, second] = check.check([entry({ key: '{{level}}' }), entry({ key: 'k'.repeat(300), value: true })]);
    expect(first).toEqual(entry({ key: sendableKey('{{level}}') }));
    expect(second).toEqual(entry({ key: sendableKey('k'.repeat(300)), value: true }));
    expect(check.counts).toEqual({ renamed: 2, retimed: 0, asText: 0 });
  });

  it.each([-1, YEAR_10000_MS, Number.NaN, Number.POSITIVE_INFINITY])(
    'with the time %d from its source has the time at which it came',
    (takenAtMs) => {
      const { check } = checking();
      const [checked] = check.check([entry({ takenAtMs })]);
      expect(checked).toEqual(entry({}));
      expect(checked).not.toHaveProperty('takenAtMs');
      expect(check.counts.retimed).toBe(1);
    },
  );

  it('with part of a millisecond in its time keeps that time, rounded', () => {
    const { check } = checking();
    expect(check.check([entry({ takenAtMs: 1_700_000_000_000.6 })])).toEqual([entry({ takenAtMs: 1_700_000_000_001 })]);
    expect(check.counts.retimed).toBe(0);
  });

  it('with a number that the platform has no room for is counted, and stays the number it is', () => {
    const { check } = checking();
    const entries = [
      entry({ value: 1e300 }),
      entry({ value: 2n ** 63n }),
      entry({ value: 1e-20 }),
      entry({ value: 2 ** 60 }),
    ];
    expect(check.check(entries)).toEqual(entries);
    expect(check.counts.asText).toBe(3);
  });

  it('is told of once for each key, and no endless source of keys fills the log', () => {
    const { check, told } = checking();
    for (let n = 0; n < 3; n += 1) check.check([entry({ key: '<a>' }), entry({ key: 'b', takenAtMs: -1 })]);
    expect(told).toHaveLength(2);
    expect(told[0]).toContain('<a>');
    for (let n = 0; n < 1000; n += 1) check.check([entry({ key: `<${n}>` })]);
    expect(told).toHaveLength(100);
    expect(check.counts).toEqual({ renamed: 1003, retimed: 3, asText: 0 });
  });
});

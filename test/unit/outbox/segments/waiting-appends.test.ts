/** Appends that wait in memory: what is taken of them, and when each is done. */
import { expect, it } from 'vitest';
import type { TelemetryEntry } from '../../../../src/outbox/format/telemetry-entry.ts';
import { WaitingAppends } from '../../../../src/outbox/segments/waiting-appends.ts';

const entry = (entryClass: TelemetryEntry['class']): TelemetryEntry => ({
  device: 'self',
  key: 'k',
  value: 1,
  bootId: 'boot',
  monotonicMs: 1,
  class: entryClass,
});

it('takes the alarms of each append, which is done when all parts of it are', () => {
  const waiting = new WaitingAppends();
  const done: string[] = [];
  const add = (name: string, ...classes: TelemetryEntry['class'][]): boolean =>
    waiting.add(
      classes.map(entry),
      () => void done.push(name),
      () => expect.fail('nothing gives way'),
    );
  expect([waiting.bytes, waiting.entries]).toEqual([0, 0]);
  expect([add('regular', 'regular'), add('alarm', 'alarm'), add('both', 'alarm', 'regular')]).toEqual([
    false,
    true,
    true,
  ]);
  const alarms = waiting.takeAlarms();
  expect([alarms.map(({ entries }) => entries.length), waiting.entries]).toEqual([[1, 1], 2]);
  for (const { resolve } of alarms) resolve();
  expect(done).toEqual(['alarm']);
  const rest = waiting.takeAll();
  for (const { resolve } of rest) resolve();
  expect([done, rest.length, waiting.bytes]).toEqual([['alarm', 'regular', 'both'], 2, 0]);
});

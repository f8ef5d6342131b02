/**
 * The answer to one request: the first good line, or all lines of `answers` together. Several lines are whole when so many came, or when the
 * device is silent; keys that are known and did not come are refused by name.
 */
import type { Clock } from '../../host/clock.ts';
import { LINE_KEYS } from '../families/lines/definition.ts';
import type { Reading, Refusal } from '../kind/sensor.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { SerialLineConfig } from './definition.ts';

interface AnsweredLines {
  readonly onReadings: (listener: (readings: readonly Reading[]) => void) => () => void;
  readonly onLine: (listener: () => void) => () => void;
  /** Keys without a value. */
  refused: readonly Refusal[];
}

interface Answer {
  readonly readings: Promise<readonly Reading[]>;
  stop(): void;
}

/** Begins to listen at once: a quick device answers while the last byte of the request is still reported as sent. */
export function readAnswers(config: SerialLineConfig, lines: AnsweredLines, clock: Pick<Clock, 'after'>): Answer {
  const { answers } = config;
  const { promise: readings, resolve, reject } = Promise.withResolvers<readonly Reading[]>();
  if (answers === undefined) return { readings, stop: lines.onReadings(resolve) };
  readings.catch(() => {}); // a write that fails first leaves it unheard
  const { count = Number.POSITIVE_INFINITY, idleMs } = answers;
  const found = new Map<string, Reading>();
  const refused = new Map<string, Refusal>();
  let heard = 0;
  let cancelIdle = (): void => {};
  const finish = (): void => {
    const came =
      heard < count && count !== Number.POSITIVE_INFINITY
        ? `${heard} of ${count} answer lines came`
        : `${heard} answer lines came`;
    const expected = LINE_KEYS.keys(config);
    for (const key of expected ?? [])
      if (!found.has(key) && !refused.has(key))
        refused.set(key, { key, fault: sensorFault('no-value', `${came}, and none has ${key}`) });
    lines.refused = [...refused.values()];
    if (found.size === 0 || (expected === undefined && heard < count && answers.count !== undefined))
      reject(sensorFault('silent', came));
    else resolve([...found.values()]);
  };
  const stops = [
    lines.onReadings((given) => {
      for (const reading of given) found.set(reading.key, reading);
      for (const refusal of lines.refused) refused.set(refusal.key, refusal);
    }),
    lines.onLine(() => {
      heard += 1;
      cancelIdle();
      if (heard >= count) finish();
      else cancelIdle = clock.after(idleMs, finish);
    }),
  ];
  return {
    readings,
    stop: () => {
      cancelIdle();
      for (const stop of stops) stop();
    },
  };
}

/** Times that contradict each other. */
import { definitionOf } from '../../sensors/kinds.ts';
import type { SensorConfig } from '../agent-config.ts';
import type { ConfigPath } from '../config-fault.ts';
import type { Finding } from '../fields/findings.ts';
import { formatDuration } from '../quantity.ts';
import type { Check } from './draft.ts';

export const checkSensorTimes: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }) => {
    const findings: Finding[] = [];
    const period = formatDuration(config.periodMs);
    if (config.deadlineMs > config.periodMs)
      findings.push({ path: [...path, 'deadline'], problem: 'longer than the period:', expected: `at most the period of ${period}` });
    if (config.window !== undefined && config.window.lengthMs < config.periodMs)
      findings.push({
        path: [...path, 'window', 'length'],
        problem: 'shorter than the period:',
        expected: `at least the period of ${period}`,
      });
    findings.push(...conversionFaults(config, path));
    for (const [key, rules] of Object.entries(config.keys)) {
      const { minIntervalMs, maxIntervalMs } = rules;
      if (minIntervalMs !== undefined && maxIntervalMs !== undefined && minIntervalMs > maxIntervalMs)
        findings.push({
          path: [...path, 'keys', key, 'minInterval'],
          problem: 'longer than maxInterval:',
          expected: `at most ${formatDuration(maxIntervalMs)}`,
        });
    }
    return findings;
  });

/** A sensor that is never read to its end. */
function conversionFaults(config: SensorConfig, path: ConfigPath): Finding[] {
  const minMs = definitionOf(config.kind).minReadMs?.(config) ?? 0;
  const expected = `more than the ${Math.ceil(minMs)} ms that its conversions take with these settings`;
  if (minMs >= config.periodMs) return [{ path: [...path, 'period'], problem: 'too short for one read:', expected }];
  return minMs >= config.deadlineMs ? [{ path: [...path, 'deadline'], problem: 'too short for one read:', expected }] : [];
}

export const checkActuatorTimes: Check = ({ actuators }) =>
  actuators.flatMap(({ config, path }) => {
    const { minOnMs, maxOnMs } = config.limits;
    if (minOnMs === undefined || maxOnMs === undefined || minOnMs <= maxOnMs) return [];
    return [{ path: [...path, 'limits', 'minOn'], problem: 'longer than maxOn:', expected: `at most ${formatDuration(maxOnMs)}` }];
  });

export const checkDeliveryTimes: Check = ({ sections: { outbox, firmware } }) => {
  const findings: Finding[] = [];
  if (outbox !== undefined && outbox.retain.bytes > outbox.maxBytes)
    findings.push({ path: ['outbox', 'retain', 'bytes'], problem: 'more than the whole outbox may hold:', expected: 'at most maxBytes' });
  if (firmware?.hours !== undefined && firmware.hours.from === firmware.hours.to)
    findings.push({ path: ['firmware', 'hours', 'to'], problem: 'no time between from and to:', expected: 'another time than from' });
  return findings;
};

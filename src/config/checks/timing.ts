/** Times that contradict each other. */
import type { SensorConfig, SensorConfigOf } from '../agent-config.ts';
import type { ConfigPath } from '../config-fault.ts';
import { leastReadMs } from '../least-read.ts';
import { formatDuration } from '../quantity.ts';
import type { Check, Finding } from './draft.ts';

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
    findings.push(...(config.kind === 'gpio-frequency' ? gateFaults(config, path) : conversionFaults(config, path)));
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

function gateFaults({ gateMs, periodMs, deadlineMs }: SensorConfigOf<'gpio-frequency'>, path: ConfigPath): Finding[] {
  const gate = [...path, 'gate'];
  if (gateMs >= periodMs)
    return [{ path: gate, problem: 'not within the period:', expected: `less than the period of ${formatDuration(periodMs)}` }];
  if (gateMs < deadlineMs) return [];
  return [{ path: gate, problem: 'cut off by the deadline:', expected: `less than the deadline of ${formatDuration(deadlineMs)}` }];
}

/** A sensor that is never read to its end. */
function conversionFaults(config: SensorConfig, path: ConfigPath): Finding[] {
  const leastMs = leastReadMs(config);
  const expected = `more than the ${Math.ceil(leastMs)} ms that its conversions take with these settings`;
  if (leastMs >= config.periodMs) return [{ path: [...path, 'period'], problem: 'too short for one read:', expected }];
  return leastMs >= config.deadlineMs ? [{ path: [...path, 'deadline'], problem: 'too short for one read:', expected }] : [];
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

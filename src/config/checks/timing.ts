/** Times that contradict each other. */

import type { Span } from '../../host/local-time.ts';
import { actuatorDefinition } from '../../kinds/actuator-kinds.ts';
import { definitionOf } from '../../kinds/sensor-kinds.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import { type Finding, finding } from '../fields/findings.ts';
import { formatDuration } from '../fields/quantity.ts';
import type { SensorConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

/** Some thirty bytes at 100 kHz, and a timer that comes a little late. */
const BUS_MS = 5;

export const checkSensorTimes: Check = ({ sensors }) =>
  sensors.flatMap(({ config: { periodMs, deadlineMs, window, keys }, config, path }) => {
    const findings: Finding[] = [];
    const period = formatDuration(periodMs);
    if (deadlineMs > periodMs) findings.push(finding([...path, 'deadline'], 'longer than the period:', `at most the period of ${period}`));
    if (window !== undefined && window.lengthMs < periodMs)
      findings.push(finding([...path, 'window', 'length'], 'shorter than the period:', `at least the period of ${period}`));
    findings.push(...conversionFaults(config, path));
    for (const [key, { minIntervalMs = 0, maxIntervalMs = Number.POSITIVE_INFINITY }] of Object.entries(keys))
      if (minIntervalMs > maxIntervalMs)
        findings.push(
          finding([...path, 'keys', key, 'minInterval'], 'longer than maxInterval:', `at most ${formatDuration(maxIntervalMs)}`),
        );
    return findings;
  });

/** A sensor that is never read to its end. */
function conversionFaults(config: SensorConfig, path: ConfigPath): Finding[] {
  const conversionMs = definitionOf(config.kind).minReadMs?.(config);
  if (conversionMs === undefined) return [];
  const minMs = Math.ceil(conversionMs + BUS_MS);
  const short = (['period', 'deadline'] as const).find((option) => config[`${option}Ms`] < minMs);
  const expected = `at least the ${minMs} ms that its conversions and the bus take with these settings`;
  return short === undefined ? [] : [finding([...path, short], 'too short for one read:', expected)];
}

export const checkActuatorTimes: Check = ({ actuators }) =>
  actuators.flatMap(({ config, path }) => {
    const { minOnMs = 0, maxOnMs = Number.POSITIVE_INFINITY } = config.limits;
    const at = [...path, 'limits', 'minOn'];
    if (minOnMs > maxOnMs) return [finding(at, 'longer than maxOn:', `at most ${formatDuration(maxOnMs)}`)];
    const maxPulseMs = actuatorDefinition(config.kind).maxPulseMs?.(config) ?? Number.POSITIVE_INFINITY;
    if (minOnMs <= maxPulseMs) return [];
    return [
      finding(at, 'longer than maxPulse, so that no pulse ends in its time:', `at most ${formatDuration(maxPulseMs)}`, { warning: true }),
    ];
  });

export const checkDeliveryTimes: Check = ({ sections: { outbox, firmware } }) => {
  const findings: Finding[] = [];
  if (outbox !== undefined && outbox.retain.bytes > outbox.maxBytes)
    findings.push(finding(['outbox', 'retain', 'bytes'], 'more than the whole outbox may hold:', 'at most maxBytes'));
  if (firmware?.hours !== undefined) findings.push(...hoursFaults(firmware.hours, ['firmware', 'hours']));
  return findings;
};

export function hoursFaults({ from, to }: Span, path: ConfigPath): Finding[] {
  return from === to ? [finding([...path, 'to'], 'no time between from and to:', 'another time than from')] : [];
}

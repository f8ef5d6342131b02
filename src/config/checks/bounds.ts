/** Times, limits and thresholds that contradict each other. */

import type { Span } from '../../host/local-time.ts';
import { actuatorDefinition } from '../../kinds/actuator-kinds.ts';
import { definitionOf } from '../../kinds/sensor-kinds.ts';
import type { ValueShape } from '../../values/value-shape.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import { type Finding, finding } from '../fields/findings.ts';
import { formatDuration, formatSize } from '../fields/quantity.ts';
import type { KeyRulesConfig, SensorConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

/** Some thirty bytes at 100 kHz, and a timer that comes a little late. */
const BUS_MS = 5;

export const checkSensorTimes: Check = ({ sensors }) =>
  sensors.flatMap(({ config: { periodMs, deadlineMs, window, keys }, config, path }) => {
    const findings: Finding[] = [];
    const period = formatDuration(periodMs);
    if (deadlineMs > periodMs)
      findings.push(finding([...path, 'deadline'], 'longer than the period:', `at most the period of ${period}`));
    if (window !== undefined && window.lengthMs < periodMs)
      findings.push(
        finding([...path, 'window', 'length'], 'shorter than the period:', `at least the period of ${period}`),
      );
    findings.push(...conversionFaults(config, path));
    for (const [key, { minIntervalMs = 0, maxIntervalMs = Number.POSITIVE_INFINITY }] of Object.entries(keys))
      if (minIntervalMs > maxIntervalMs)
        findings.push(
          finding(
            [...path, 'keys', key, 'minInterval'],
            'longer than maxInterval:',
            `at most ${formatDuration(maxIntervalMs)}`,
          ),
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
      finding(at, 'longer than maxPulse, so that no pulse ends in its time:', `at most ${formatDuration(maxPulseMs)}`, {
        warning: true,
      }),
    ];
  });

export const checkDeliveryTimes: Check = ({ sections: { outbox, firmware, link } }) => {
  const findings: Finding[] = [];
  if (outbox !== undefined && outbox.retain.bytes > outbox.maxBytes)
    findings.push(finding(['outbox', 'retain', 'bytes'], 'more than the whole outbox may hold:', 'at most maxBytes'));
  if (link?.metered === true && link.monthlyBytes === undefined)
    findings.push(
      finding(['link', 'monthly'], 'missing, so that nothing is kept to:', 'the bytes of a month, such as 50MB'),
    );
  if (firmware?.hours !== undefined) findings.push(...hoursFaults(firmware.hours, ['firmware', 'hours']));
  return findings;
};

export function hoursFaults({ from, to }: Span, path: ConfigPath): Finding[] {
  return from === to ? [finding([...path, 'to'], 'no time between from and to:', 'another time than from')] : [];
}

/** Parameters that nobody could give. */
export const checkShapes: Check = ({ sections }) =>
  Object.entries(sections.rpc?.methods ?? {}).flatMap(([name, { params, allowed }]) => [
    ...(params === undefined ? [] : shapeFaults(params, ['rpc', 'methods', name, 'params'])),
    ...(allowed === undefined ? [] : shapeFaults(allowed, ['rpc', 'methods', name, 'allowed'])),
  ]);

/** An hour less than the boot guard's own patience (MAX_TICKS in systemd/boot-guard), which no configuration changes. */
const MAX_TRIAL_MS = 24 * 3_600_000;

export const checkFirmwareBounds: Check = ({ sections: { firmware } }) => {
  if (firmware === undefined) return [];
  const { chunkBytes, maxSizeBytes, confirm } = firmware;
  const at = (name: string): ConfigPath => ['firmware', 'confirm', name];
  const findings: Finding[] = [];
  if (chunkBytes > maxSizeBytes)
    findings.push(finding(['firmware', 'chunk'], 'more than maxSize:', `at most ${formatSize(maxSizeBytes)}`));
  if (confirm.healthyForMs > confirm.deadlineMs)
    findings.push(
      finding(at('healthyFor'), 'longer than the deadline:', `at most ${formatDuration(confirm.deadlineMs)}`),
    );
  if (confirm.healthyForMs > confirm.unreachableHoldMs) {
    const expected = `at most unreachableHold, ${formatDuration(confirm.unreachableHoldMs)}`;
    findings.push(finding(at('healthyFor'), 'longer than a release is held:', expected, { warning: true }));
  }
  // No faults: a release that refused what the one before took would be rolled back for it.
  const problem = 'the boot guard goes back after 25 hours all the same, not after';
  for (const name of ['deadline', 'unreachableHold'] as const)
    if (confirm[`${name}Ms`] > MAX_TRIAL_MS)
      findings.push(finding(at(name), problem, `at most ${formatDuration(MAX_TRIAL_MS)}`, { warning: true }));
  return findings;
};

const BOUNDS = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
] as const;

function shapeFaults(shape: ValueShape, path: ConfigPath): Finding[] {
  const { properties = {}, required = [], additionalProperties, items } = shape;
  const reversed = BOUNDS.filter(
    ([least, most]) => (shape[least] ?? Number.NEGATIVE_INFINITY) > (shape[most] ?? Number.POSITIVE_INFINITY),
  );
  const impossible = [...required.entries()].filter(
    ([, name]) => additionalProperties === false && !Object.hasOwn(properties, name),
  );
  return [
    ...reversed.map(([least, most]) => finding([...path, least], `above ${most}:`, `at most ${shape[most]}`)),
    ...impossible.map(([index]) =>
      finding([...path, 'required', index], 'required, and not among the properties:', 'one of the properties'),
    ),
    ...Object.entries(properties).flatMap(([name, property]) => shapeFaults(property, [...path, 'properties', name])),
    ...(items === undefined ? [] : shapeFaults(items, [...path, 'items'])),
  ];
}

/** Value of `<key>_alarm` while no alarm is on; telemetry/alarm-thresholds.ts. */
const ALARM_CLEAR = 'ok';

export const checkAlarms: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }) =>
    Object.entries(config.keys).flatMap(([key, rules]) =>
      alarmFaults(rules.alarms ?? [], [...path, 'keys', key, 'alarms']),
    ),
  );

function alarmFaults(alarms: NonNullable<KeyRulesConfig['alarms']>, path: ConfigPath): Finding[] {
  const findings: Finding[] = [];
  const names = new Set([ALARM_CLEAR]);
  const lowestAbove = Math.min(...alarms.map(({ above }) => above ?? Number.POSITIVE_INFINITY));
  for (const [index, { above, below, name }] of alarms.entries()) {
    const at = [...path, index];
    if (above === undefined && below !== undefined && below > lowestAbove)
      findings.push(
        finding([...at, 'below'], 'an alarm is always on:', `at most ${lowestAbove}, where the alarm above begins`),
      );
    if (name !== undefined && names.has(name)) {
      const problem = name === ALARM_CLEAR ? 'reserved for when there is no alarm:' : 'two alarms of one name:';
      findings.push(finding([...at, 'name'], problem, 'a name of its own'));
    }
    if (name !== undefined) names.add(name);
  }
  return findings;
}

/** Bounds that leave nothing between them. */
import type { ValueShape } from '../../host/value-shape.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import { type Finding, finding } from '../fields/findings.ts';
import { formatDuration, formatSize } from '../fields/quantity.ts';
import type { Check } from './draft.ts';

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
  if (chunkBytes > maxSizeBytes) findings.push(finding(['firmware', 'chunk'], 'more than maxSize:', `at most ${formatSize(maxSizeBytes)}`));
  if (confirm.healthyForMs > confirm.deadlineMs)
    findings.push(finding(at('healthyFor'), 'longer than the deadline:', `at most ${formatDuration(confirm.deadlineMs)}`));
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
  const reversed = BOUNDS.filter(([least, most]) => (shape[least] ?? Number.NEGATIVE_INFINITY) > (shape[most] ?? Number.POSITIVE_INFINITY));
  const impossible = [...required.entries()].filter(([, name]) => additionalProperties === false && !Object.hasOwn(properties, name));
  return [
    ...reversed.map(([least, most]) => finding([...path, least], `above ${most}:`, `at most ${shape[most]}`)),
    ...impossible.map(([index]) =>
      finding([...path, 'required', index], 'required, and not among the properties:', 'one of the properties'),
    ),
    ...Object.entries(properties).flatMap(([name, property]) => shapeFaults(property, [...path, 'properties', name])),
    ...(items === undefined ? [] : shapeFaults(items, [...path, 'items'])),
  ];
}

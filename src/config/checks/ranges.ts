/** Bounds that leave nothing between them. */
import type { ValueShape } from '../../host/value-shape.ts';
import type { ConfigPath } from '../config-fault.ts';
import type { Finding } from '../fields/findings.ts';
import { formatDuration, formatSize } from '../quantity.ts';
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
  const findings: Finding[] = [];
  if (chunkBytes > maxSizeBytes)
    findings.push({ path: ['firmware', 'chunk'], problem: 'more than maxSize:', expected: `at most ${formatSize(maxSizeBytes)}` });
  if (confirm.healthyForMs > confirm.deadlineMs)
    findings.push({
      path: ['firmware', 'confirm', 'healthyFor'],
      problem: 'longer than the deadline:',
      expected: `at most ${formatDuration(confirm.deadlineMs)}`,
    });
  if (confirm.healthyForMs > confirm.unreachableHoldMs)
    findings.push({
      path: ['firmware', 'confirm', 'healthyFor'],
      problem: 'longer than a release is held:',
      expected: `at most unreachableHold, ${formatDuration(confirm.unreachableHoldMs)}`,
      warning: true,
    });
  // No faults: a release that refused what the one before took would be rolled back for it.
  for (const name of ['deadline', 'unreachableHold'] as const)
    if (confirm[`${name}Ms`] > MAX_TRIAL_MS)
      findings.push({
        path: ['firmware', 'confirm', name],
        problem: 'the boot guard goes back after 25 hours all the same, not after',
        expected: `at most ${formatDuration(MAX_TRIAL_MS)}`,
        warning: true,
      });
  return findings;
};

function shapeFaults(shape: ValueShape, path: ConfigPath): Finding[] {
  const findings: Finding[] = [];
  for (const [least, most] of [
    ['minimum', 'maximum'],
    ['minLength', 'maxLength'],
  ] as const) {
    const [low, high] = [shape[least], shape[most]];
    if (low !== undefined && high !== undefined && low > high)
      findings.push({ path: [...path, least], problem: `above ${most}:`, expected: `at most ${high}` });
  }
  const properties = shape.properties ?? {};
  for (const [index, name] of (shape.required ?? []).entries())
    if (shape.additionalProperties === false && !Object.hasOwn(properties, name))
      findings.push({
        path: [...path, 'required', index],
        problem: 'required, and not among the properties:',
        expected: 'one of the properties',
      });
  for (const [name, property] of Object.entries(properties)) findings.push(...shapeFaults(property, [...path, 'properties', name]));
  if (shape.items !== undefined) findings.push(...shapeFaults(shape.items, [...path, 'items']));
  return findings;
}

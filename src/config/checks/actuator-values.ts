/** Limits, safe states, rules and methods that ask an actuator for what it cannot do. */
import type { ActuatorValue } from '../../actuators/actuator.ts';
import { ACTUATOR_KINDS, actuatorDefinition } from '../../actuators/kinds.ts';
import type { ActuatorConfig } from '../agent-config.ts';
import type { ConfigPath } from '../config-fault.ts';
import type { Finding } from '../fields/findings.ts';
import { holdsModbus, modbusRange } from '../fields/modbus-types.ts';
import { formatDuration } from '../quantity.ts';
import type { Check } from './draft.ts';

/** Steps of decimals are not exact in binary; as actuators/actuator-limits.ts takes them. */
const STEP_TOLERANCE = 1e-6;
const PULSED = ACTUATOR_KINDS.flatMap(({ kind, maxPulseMs }) => (maxPulseMs === undefined ? [] : [kind]));

export const checkLimits: Check = ({ actuators }) =>
  actuators.flatMap(({ config, path }) => [
    ...limitFaults(config, [...path, 'limits']),
    ...offFaults(config, [...path, 'limits', 'maxOn']),
    ...safeValues(config).flatMap(({ value, at }) => mismatch(config, value, [...path, ...at])),
  ]);

export const checkRuleValues: Check = ({ rules, actuators }) =>
  rules.flatMap(({ config, path }) => {
    const given = (['above', 'below', 'equal'] as const).filter((one) => config.when[one] !== undefined);
    const condition: Finding[] =
      given.length === 1
        ? []
        : [
            {
              path: [...path, 'when'],
              atKey: true,
              problem: given.length === 0 ? 'no condition' : `several conditions: ${given.join(', ')}`,
              expected: 'exactly one of above, below and equal',
            },
          ];
    const actuator = actuators.find((one) => one.config.name === config.set.actuator)?.config;
    if (actuator === undefined) return condition;
    return [
      ...condition,
      ...mismatch(actuator, config.set.value, [...path, 'set', 'value']),
      ...(config.otherwise === undefined ? [] : mismatch(actuator, config.otherwise, [...path, 'otherwise'])),
    ];
  });

export const checkMethodValues: Check = ({ actuators, sections }) =>
  Object.entries(sections.rpc?.methods ?? {}).flatMap(([name, { actuator, value, pulseMs }]) => {
    const path = ['rpc', 'methods', name];
    if (actuator === undefined)
      return (['value', 'pulse'] as const)
        .filter((key) => (key === 'value' ? value : pulseMs) !== undefined)
        .map((key) => ({ path: [...path, key], atKey: true, problem: `${key} has no effect`, value: '', expected: 'actuator: beside it' }));
    const target = actuators.find(({ config }) => config.name === actuator)?.config;
    if (target === undefined) return [];
    if (pulseMs !== undefined && value !== undefined)
      return [{ path: [...path, 'value'], atKey: true, problem: 'value beside pulse', value: '', expected: 'one of them' }];
    if (pulseMs !== undefined) return pulseFaults(target, pulseMs, [...path, 'pulse']);
    return value === undefined ? [] : mismatch(target, value, [...path, 'value']);
  });

function pulseFaults(target: ActuatorConfig, pulseMs: number, path: ConfigPath): Finding[] {
  const { minOnMs = 0, maxOnMs = Number.POSITIVE_INFINITY } = target.limits;
  const maxPulseMs = actuatorDefinition(target.kind).maxPulseMs?.(target);
  if (maxPulseMs === undefined)
    return [{ path, problem: 'no pulse for this kind:', expected: `an actuator of kind ${PULSED.join(' or ')}` }];
  if (pulseMs > maxPulseMs) return [{ path, problem: 'longer than the actuator allows:', expected: 'at most its maxPulse' }];
  if (pulseMs < minOnMs)
    return [{ path, problem: 'shorter than the actuator allows:', expected: `at least its minOn of ${formatDuration(minOnMs)}` }];
  if (pulseMs <= maxOnMs) return [];
  return [{ path, problem: 'longer than the actuator may be on:', expected: `at most its maxOn of ${formatDuration(maxOnMs)}` }];
}

function limitFaults(actuator: ActuatorConfig, path: ConfigPath): Finding[] {
  const { min, max, step } = actuator.limits;
  if (valueTypeOf(actuator) !== 'number')
    return (['min', 'max', 'step'] as const)
      .filter((limit) => actuator.limits[limit] !== undefined)
      .map((limit) => ({
        path: [...path, limit],
        atKey: true,
        problem: `${limit} has no effect`,
        value: '',
        expected: 'an actuator whose values are numbers',
      }));
  const [least, most] = rangeOf(actuator);
  const beyond = (['min', 'max'] as const).filter((limit) => {
    const value = actuator.limits[limit];
    return value !== undefined && (value < least || value > most);
  });
  const findings: Finding[] = beyond.map((limit) => ({
    path: [...path, limit],
    problem: 'beyond what it can be set to:',
    expected: `a value from ${least} to ${most}`,
  }));
  if (min !== undefined && max !== undefined && min > max)
    findings.push({ path: [...path, 'min'], problem: 'above max:', expected: `at most ${max}` });
  else if (step !== undefined && step > (max ?? most) - (min ?? least))
    findings.push({
      path: [...path, 'step'],
      problem: 'larger than the whole range:',
      expected: `at most ${(max ?? most) - (min ?? least)}`,
    });
  return findings;
}

/** The longest time on ends with off, which a text does not have. */
function offFaults(actuator: ActuatorConfig, path: ConfigPath): Finding[] {
  if (actuator.limits.maxOnMs === undefined || valueTypeOf(actuator) !== 'string') return [];
  const problem = 'maxOn has no effect, as a text has no off';
  return [{ path, atKey: true, value: '', problem, expected: 'an actuator that is on or off, or a number' }];
}

/** What the hardware takes, whatever the limits say. */
function rangeOf(actuator: ActuatorConfig): readonly [number, number] {
  return actuatorDefinition(actuator.kind).range?.(actuator) ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
}

function valueTypeOf(actuator: ActuatorConfig) {
  return actuatorDefinition(actuator.kind).valueType(actuator);
}

function safeValues({ safe }: ActuatorConfig): readonly { readonly value: ActuatorValue; readonly at: ConfigPath }[] {
  const simple = (['start', 'stop', 'crash'] as const).flatMap((when) =>
    safe[when] === undefined ? [] : [{ value: safe[when], at: ['safe', when] }],
  );
  return safe.noContact === undefined ? simple : [...simple, { value: safe.noContact.value, at: ['safe', 'noContact', 'value'] }];
}

function mismatch(actuator: ActuatorConfig, value: ActuatorValue, path: ConfigPath): Finding[] {
  const type = valueTypeOf(actuator);
  const { name, limits } = actuator;
  if (typeof value !== type)
    return [
      {
        path,
        problem: 'wrong kind of value:',
        expected: `${type === 'boolean' ? 'on or off' : type === 'number' ? 'a number' : 'text'}, as ${name} takes`,
      },
    ];
  if (typeof value !== 'number') return [];
  const [least, most] = rangeOf(actuator);
  const [min, max] = [Math.max(limits.min ?? least, least), Math.min(limits.max ?? most, most)];
  if (value < min || value > max) return [{ path, problem: 'outside the limits:', expected: `a value from ${min} to ${max}` }];
  const steps = limits.step === undefined ? 0 : (value - (limits.min ?? 0)) / limits.step;
  if (Math.abs(steps - Math.round(steps)) <= STEP_TOLERANCE) return [];
  return [{ path, problem: 'off its step:', expected: `${limits.min ?? 0} and multiples of ${limits.step} from there` }];
}

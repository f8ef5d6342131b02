/** Alarms, limits, safe states and rules whose values contradict each other. */
import type { ActuatorConfig, ActuatorValue, KeyRulesConfig } from '../agent-config.ts';
import type { ConfigPath } from '../config-fault.ts';
import type { Check, Finding } from './draft.ts';

export const checkAlarms: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }) =>
    Object.entries(config.keys).flatMap(([key, rules]) => alarmFaults(rules.alarms ?? [], [...path, 'keys', key, 'alarms'])),
  );

function alarmFaults(alarms: NonNullable<KeyRulesConfig['alarms']>, path: ConfigPath): Finding[] {
  const findings: Finding[] = [];
  const lowestAbove = Math.min(...alarms.map(({ above }) => above ?? Number.POSITIVE_INFINITY));
  for (const [index, { above, below }] of alarms.entries()) {
    if ((above === undefined) === (below === undefined))
      findings.push({
        path: [...path, index],
        problem: above === undefined ? 'an alarm without threshold' : 'an alarm with two thresholds',
        value: '',
        expected: 'above or below',
      });
    else if (below !== undefined && below > lowestAbove)
      findings.push({
        path: [...path, index, 'below'],
        problem: 'an alarm is always on:',
        expected: `at most ${lowestAbove}, where the alarm above begins`,
      });
  }
  return findings;
}

export const checkLimits: Check = ({ actuators }) =>
  actuators.flatMap(({ config, path }) => {
    const { min, max } = config.limits;
    if (min !== undefined && max !== undefined && min > max)
      return [{ path: [...path, 'limits', 'min'], problem: 'above max:', expected: `at most ${max}` }];
    return safeValues(config).flatMap(({ value, at }) => misfit(config, value, [...path, ...at]));
  });

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
      ...misfit(actuator, config.set.value, [...path, 'set', 'value']),
      ...(config.otherwise === undefined ? [] : misfit(actuator, config.otherwise, [...path, 'otherwise'])),
    ];
  });

export const checkMethodValues: Check = ({ actuators, sections }) =>
  Object.entries(sections.rpc?.methods ?? {}).flatMap(([name, { actuator, value, pulseMs }]) => {
    const target = actuators.find(({ config }) => config.name === actuator)?.config;
    if (target === undefined) return [];
    const path = ['rpc', 'methods', name];
    if (pulseMs !== undefined && target.kind !== 'gpio-output')
      return [{ path: [...path, 'pulse'], problem: 'no pulse for this kind:', expected: 'an actuator of kind gpio-output' }];
    if (pulseMs !== undefined && target.kind === 'gpio-output' && pulseMs > target.maxPulseMs)
      return [{ path: [...path, 'pulse'], problem: 'longer than the actuator allows:', expected: `at most its maxPulse` }];
    return value === undefined ? [] : misfit(target, value, [...path, 'value']);
  });

/** The type of value an actuator takes. */
function valueTypeOf(actuator: ActuatorConfig): 'boolean' | 'number' | 'string' {
  if (actuator.kind === 'gpio-output') return 'boolean';
  if (actuator.kind === 'pwm') return 'number';
  if (actuator.kind === 'modbus-write')
    return actuator.type === 'bool' || actuator.table === 'coil' ? 'boolean' : actuator.type === 'string' ? 'string' : 'number';
  return actuator.valueType;
}

function safeValues({ safe }: ActuatorConfig): readonly { readonly value: ActuatorValue; readonly at: ConfigPath }[] {
  const simple = (['start', 'stop', 'crash'] as const).flatMap((when) =>
    safe[when] === undefined ? [] : [{ value: safe[when], at: ['safe', when] }],
  );
  return safe.noContact === undefined ? simple : [...simple, { value: safe.noContact.value, at: ['safe', 'noContact', 'value'] }];
}

function misfit(actuator: ActuatorConfig, value: ActuatorValue, path: ConfigPath): Finding[] {
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
  const min = limits.min ?? (actuator.kind === 'pwm' ? 0 : Number.NEGATIVE_INFINITY);
  const max = limits.max ?? (actuator.kind === 'pwm' ? 100 : Number.POSITIVE_INFINITY);
  return value >= min && value <= max ? [] : [{ path, problem: 'outside the limits:', expected: `a value from ${min} to ${max}` }];
}

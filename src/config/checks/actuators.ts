/** Limits, safe states, rules and methods that ask an actuator for what it cannot do. */
import { type ActuatorValue, inWords, isActive } from '../../actuators/kind/actuator.ts';
import { ACTUATOR_KINDS, actuatorDefinition } from '../../kinds/actuator-kinds.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import { type Finding, finding, findingAtKey, noEffect, type Placed } from '../fields/findings.ts';
import { formatDuration } from '../fields/quantity.ts';
import { rangeText } from '../fields/range-text.ts';
import type { ActuatorConfig, RpcMethodConfig, RuleConfig, SensorConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

/** Steps of decimals are not exact in binary; as actuators/actuator-limits.ts takes them. */
const STEP_TOLERANCE = 1e-6;
const PULSED = ACTUATOR_KINDS.flatMap(({ kind, maxPulseMs }) => (maxPulseMs === undefined ? [] : [kind]));
const IN_WORDS = { boolean: 'on or off', number: 'a number', string: 'text' } as const;

export const checkLimits: Check = ({ actuators }) =>
  actuators.flatMap(({ config, path }) => [
    ...limitFaults(config, [...path, 'limits']),
    ...offFaults(config, [...path, 'limits', 'maxOn']),
    ...restoreFaults(config, [...path, 'restore']),
    ...safeValues(config).flatMap(({ value, at }) => mismatch(config, value, [...path, ...at])),
  ]);

/** Finds values that would be written twice to hardware that does not say whether it has them already. */
function restoreFaults(actuator: ActuatorConfig, path: ConfigPath): Finding[] {
  const canAsk = isReadable(actuator);
  if (actuator.restore === true && !canAsk)
    return [
      finding(
        path,
        'an output that cannot be read back is moved by it at each start:',
        'repeat to allow that, or false',
      ),
    ];
  if (actuator.restore === 'repeat' && canAsk)
    return [
      finding(path, 'allows a movement at each start, which an output that can be read back does not need:', 'true'),
    ];
  return [];
}

export const checkRuleValues: Check = ({ rules, actuators }) =>
  rules.flatMap(({ config: { set, otherwise, sensorLost }, path }) => {
    const actuator = actuators.find(({ config }) => config.name === set.actuator)?.config;
    return [
      ...((set.value === undefined) === (set.curve === undefined) ? [oneOfBoth(set, [...path, 'set'])] : []),
      ...(actuator === undefined || set.value === undefined
        ? []
        : mismatch(actuator, set.value, [...path, 'set', 'value'])),
      ...(actuator === undefined || set.curve === undefined
        ? []
        : curveFaults(actuator, set.curve, [...path, 'set', 'curve'])),
      ...(actuator === undefined || otherwise === undefined
        ? []
        : mismatch(actuator, otherwise, [...path, 'otherwise'])),
      ...(actuator === undefined || sensorLost === undefined
        ? []
        : mismatch(actuator, sensorLost, [...path, 'sensorLost'])),
    ];
  });

export const checkMethodValues: Check = ({ actuators, sensors, sections }) =>
  Object.entries(sections.rpc?.methods ?? {}).flatMap(([name, method]) => {
    const { actuator, pins, sensor, key, read, value, pulseMs } = method;
    const path = ['rpc', 'methods', name];
    if (method.send !== undefined || method.sendHex !== undefined || method.expect !== undefined)
      return toldFaults(method, sensors.find(({ config }) => config.name === sensor)?.config, path);
    if (key !== undefined && sensor === undefined) return [noEffect(path, 'key', 'sensor: beside it')];
    if (read && actuator === undefined && pins === undefined)
      return [noEffect(path, 'read', 'actuator or pins: beside it')];
    const beside = read
      ? Object.entries({ value, pulse: pulseMs }).find(([, given]) => given !== undefined)
      : undefined;
    if (beside !== undefined) return [findingAtKey([...path, beside[0]], `${beside[0]} beside read`, 'one of them')];
    if (actuator === undefined)
      return Object.entries({ value, pulse: pulseMs })
        .filter(([, given]) => given !== undefined)
        .map(([key]) => noEffect(path, key, 'actuator: beside it'));
    const target = actuators.find(({ config }) => config.name === actuator)?.config;
    if (target === undefined) return [];
    if (pulseMs !== undefined && value !== undefined)
      return [findingAtKey([...path, 'value'], 'value beside pulse', 'one of them')];
    if (pulseMs !== undefined) return pulseFaults(target, pulseMs, [...path, 'pulse']);
    return value === undefined ? [] : mismatch(target, value, [...path, 'value']);
  });

/** A command to a sensor's device: bytes, and a serial port to send them on. */
function toldFaults(method: RpcMethodConfig, sensor: SensorConfig | undefined, path: ConfigPath): Finding[] {
  const { send, sendHex, key, read } = method;
  if (send === undefined && sendHex === undefined) return [noEffect(path, 'expect', 'send: beside it')];
  if (send !== undefined && sendHex !== undefined)
    return [findingAtKey([...path, 'sendHex'], 'sendHex beside send', 'one of them')];
  const way = send === undefined ? 'sendHex' : 'send';
  if (method.sensor === undefined) return [noEffect(path, way, 'sensor: whose device is told')];
  if (key !== undefined || read)
    return [findingAtKey([...path, way], `${way} beside ${read ? 'read' : 'key'}`, 'a method of its own for each')];
  // Another kind on a serial port has a protocol of its own, in which a foreign command is noise.
  return sensor === undefined || sensor.kind === 'serial-line'
    ? []
    : [
        finding([...path, 'sensor'], 'no device that can be told:', 'a sensor of the kind serial-line', {
          value: sensor.name,
        }),
      ];
}

function oneOfBoth({ value }: RuleConfig['set'], path: ConfigPath): Finding {
  return findingAtKey(
    path,
    value === undefined ? 'neither value nor curve' : 'value beside curve',
    'one of value and curve',
  );
}

function curveFaults(
  actuator: ActuatorConfig,
  { points }: NonNullable<RuleConfig['set']['curve']>,
  path: ConfigPath,
): Finding[] {
  if (valueTypeOf(actuator) !== 'number')
    return [
      findingAtKey(
        path,
        `a curve for ${actuator.name}, which takes no numbers`,
        'an actuator whose values are numbers',
      ),
    ];
  return points.flatMap(([reading = 0, value = 0], index) => {
    const before = points[index - 1]?.[0] ?? Number.NEGATIVE_INFINITY;
    const at = [...path, 'points', index];
    return [
      ...(reading > before ? [] : [finding([...at, 0], 'not above the reading before:', `more than ${before}`)]),
      ...mismatch(actuator, value, [...at, 1]),
    ];
  });
}

function pulseFaults(target: ActuatorConfig, pulseMs: number, path: ConfigPath): Finding[] {
  const { minOnMs = 0, maxOnMs = Number.POSITIVE_INFINITY } = target.limits;
  const maxPulseMs = actuatorDefinition(target.kind).maxPulseMs?.(target);
  if (maxPulseMs === undefined)
    return [finding(path, `no pulse for ${target.name}:`, `one that is on or off, of kind ${PULSED.join(' or ')}`)];
  if (pulseMs > maxPulseMs) return [finding(path, 'longer than the actuator allows:', 'at most its maxPulse')];
  if (pulseMs < minOnMs)
    return [finding(path, 'shorter than the actuator allows:', `at least its minOn of ${formatDuration(minOnMs)}`)];
  if (pulseMs <= maxOnMs) return [];
  return [finding(path, 'longer than the actuator may be on:', `at most its maxOn of ${formatDuration(maxOnMs)}`)];
}

function limitFaults(actuator: ActuatorConfig, path: ConfigPath): Finding[] {
  const { limits } = actuator;
  const { min, max, step } = limits;
  if (valueTypeOf(actuator) !== 'number')
    return (['min', 'max', 'step'] as const)
      .filter((limit) => limits[limit] !== undefined)
      .map((limit) => noEffect(path, limit, 'an actuator whose values are numbers'));
  const [least, most] = rangeOf(actuator);
  const range = (max ?? most) - (min ?? least);
  const findings = (['min', 'max'] as const)
    .filter((limit) => (limits[limit] ?? least) < least || (limits[limit] ?? most) > most)
    .map((limit) => finding([...path, limit], 'beyond what it can be set to:', `a value of ${rangeText(least, most)}`));
  if (min !== undefined && max !== undefined && min > max)
    findings.push(finding([...path, 'min'], 'above max:', `at most ${max}`));
  else if (step !== undefined && step > range)
    findings.push(finding([...path, 'step'], 'larger than the whole range:', `at most ${range}`));
  return findings;
}

/** The longest time on ends with off, which a text does not have. */
function offFaults(actuator: ActuatorConfig, path: ConfigPath): Finding[] {
  if (actuator.limits.maxOnMs === undefined || valueTypeOf(actuator) !== 'string') return [];
  return [
    findingAtKey(path, 'maxOn has no effect, as a text has no off', 'an actuator that is on or off, or a number'),
  ];
}

/** Returns the range of the hardware, before any configured limit. */
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
  return safe.noContact === undefined
    ? simple
    : [...simple, { value: safe.noContact.value, at: ['safe', 'noContact', 'value'] }];
}

function mismatch(actuator: ActuatorConfig, value: ActuatorValue, path: ConfigPath): Finding[] {
  const type = valueTypeOf(actuator);
  const { name, limits } = actuator;
  const texts = actuatorDefinition(actuator.kind).texts?.(actuator);
  if (texts !== undefined)
    return texts.includes(inWords(value))
      ? []
      : [
          finding(
            path,
            `no value of ${name}:`,
            texts.length === 0 ? 'a name of its map' : [...new Set(texts)].join(' or '),
          ),
        ];
  if (typeof value !== type) return [finding(path, 'wrong kind of value:', `${IN_WORDS[type]}, as ${name} takes`)];
  if (typeof value !== 'number') return [];
  const [least, most] = rangeOf(actuator);
  const [min, max] = [Math.max(limits.min ?? least, least), Math.min(limits.max ?? most, most)];
  if (value < min || value > max) return [finding(path, 'outside the limits:', `a value of ${rangeText(min, max)}`)];
  const steps = limits.step === undefined ? 0 : (value - (limits.min ?? 0)) / limits.step;
  if (Math.abs(steps - Math.round(steps)) <= STEP_TOLERANCE) return [];
  return [finding(path, 'off its step:', `${limits.min ?? 0} and multiples of ${limits.step} from there`)];
}

const OCCASIONS = ['start', 'stop', 'crash', 'noContact'] as const;
type Occasion = (typeof OCCASIONS)[number];

/** At these a process knows only what it sets itself, then or before, and what the hardware says. */
const SETS: Readonly<Partial<Record<Occasion, readonly Occasion[]>>> = {
  start: ['start'],
  stop: ['stop', 'start'],
  crash: ['crash'],
};

/** Finds interlocked actuators whose safe states are on together: at most one may be on, and only when the others are known to be off then. */
export const checkSafeStates: Check = ({ actuators }) => {
  const enabled = actuators.filter(({ config }) => config.enabled);
  const byName = new Map(enabled.map((one) => [one.config.name, one]));
  const partners = new Map(enabled.map((one) => [one, new Set<Placed<ActuatorConfig>>()]));
  for (const one of enabled) {
    for (const { with: name } of one.config.interlocks) {
      const other = byName.get(name);
      if (other === undefined || other === one) continue;
      partners.get(one)?.add(other);
      partners.get(other)?.add(one);
    }
  }
  const before = new Set<Placed<ActuatorConfig>>();
  return enabled.flatMap((one) => {
    before.add(one);
    const findings = OCCASIONS.map((occasion) => findingFor(one, occasion, [...(partners.get(one) ?? [])], before));
    return findings.filter((finding) => finding !== undefined);
  });
};

function findingFor(
  { config, path }: Placed<ActuatorConfig>,
  occasion: Occasion,
  partners: readonly Placed<ActuatorConfig>[],
  before: ReadonlySet<Placed<ActuatorConfig>>,
): Finding | undefined {
  if (!isOn(stateAt(config, occasion))) return undefined;
  const at: ConfigPath = [...path, 'safe', occasion, ...(occasion === 'noContact' ? ['value'] : [])];
  // Told at the second of the two.
  const other = partners.find((one) => before.has(one) && isOn(stateAt(one.config, occasion)));
  if (other !== undefined)
    return finding(at, 'two that exclude each other are set on:', `off, as ${other.config.name} is set on then`);
  const set = SETS[occasion];
  const unknown = partners.find(
    (one) => set?.every((when) => stateAt(one.config, when) === undefined) && !isReadable(one.config),
  );
  if (unknown === undefined) return undefined;
  const expected = `off, or safe.${occasion}: for ${unknown.config.name}, whose state cannot be read`;
  return finding(at, 'never set on, as nobody knows whether what it excludes is off:', expected);
}

function stateAt({ safe }: ActuatorConfig, occasion: Occasion): ActuatorValue | undefined {
  return occasion === 'noContact' ? safe.noContact?.value : safe[occasion];
}

function isOn(value: ActuatorValue | undefined): boolean {
  return value !== undefined && isActive(value);
}

function isReadable(actuator: ActuatorConfig): boolean {
  return actuatorDefinition(actuator.kind).isReadable(actuator);
}

/** The conversion of each key in words, in the order of its steps: `roof.temperature: text → number, decimal "," → × 0.1 → -40…85`. */
import { definitionOf } from '../../kinds/sensor-kinds.ts';
import { type ConversionConfig, conversionOf, meansNumber } from '../fields/conversion.ts';
import { formatDuration } from '../fields/quantity.ts';
import type { SensorConfig } from '../schema/agent-config.ts';
import { keyRulesOf, sensorKeys, sourceTypeOf } from './sensor-keys.ts';

const AS_IT_COMES = 'as it comes';
const SOURCE = { number: 'number', boolean: 'true or false', string: 'text' } as const;

/** Meaning of a register, beside the words that it shares with every key. */
interface RegisterWords extends Omit<ConversionConfig, 'type' | 'table'> {
  readonly scaleFrom?: number | string;
  readonly noValue?: number;
}

/** One line for each key of the sensor, `*` for those that only the sensor knows. */
export function conversionSteps(sensor: SensorConfig): readonly string[] {
  const keys = sensorKeys(sensor) ?? [...new Set([...Object.keys(sensor.keys), '*'])];
  return keys.map((key) => {
    const register = registersOf(sensor)[key];
    const rules = keyRulesOf(sensor, key);
    const rounding = rules?.round === undefined ? [] : [`round to ${rules.round} places`];
    const steps = [...(register === undefined ? [] : registerSteps(register)), ...stepsOf(rules ?? {}), ...rounding];
    return `${sensor.name}.${key}: ${[sourceOf(sensor, key), ...steps].join(' → ')}`;
  });
}

/** Returns what has the meaning of a register, by key: registers, and fields of frames. */
function registersOf(sensor: SensorConfig): Readonly<Record<string, object>> {
  if ('registers' in sensor) return sensor.registers;
  return ('fields' in sensor ? sensor.fields : undefined) ?? {};
}

/** Numbers in JSON and in frames are numbers already. */
function sourceOf(sensor: SensorConfig, key: string): string {
  if ('fields' in sensor && sensor.fields !== undefined) return SOURCE.number;
  if ('format' in sensor && sensor.format === 'json') return 'JSON';
  if (definitionOf(sensor.kind).givesText === true) {
    const rules = conversionOf(keyRulesOf(sensor, key) ?? {});
    if (rules === undefined || !isReadAsText(rules)) {
      if (sourceTypeOf(sensor, key) === 'number') return 'text → number';
      if (rules === undefined) return 'text, or the number that it spells';
    }
    return 'text';
  }
  const type = sourceTypeOf(sensor, key);
  return type === undefined ? AS_IT_COMES : SOURCE[type];
}

function isReadAsText(rules: ConversionConfig): boolean {
  return rules.type !== undefined || rules.map !== undefined || meansNumber(rules);
}

function registerSteps({
  type: _type,
  table: _place,
  bits: _bits,
  ...register
}: RegisterWords & { type?: unknown; table?: unknown }): string[] {
  const { noValue, scaleFrom, scale, offset } = register;
  return [
    ...(noValue === undefined ? [] : [`no value: ${noValue}`]),
    ...stepsOf({
      ...register,
      ...(scale === 1 && { scale: undefined }),
      ...(offset === 0 && { offset: undefined }),
    } as ConversionConfig),
    ...(scaleFrom === undefined
      ? []
      : [`× 10^(${typeof scaleFrom === 'number' ? `register ${scaleFrom}` : scaleFrom})`]),
  ];
}

function stepsOf(rules: ConversionConfig): string[] {
  const { nulls = [], map = {}, type, decimal, radix, bits, signed, bytes, mask, shift, signMagnitude, bcd } = rules;
  const { table, scale, offset, min, max, maxStep } = rules;
  const json = (value: unknown): string => JSON.stringify(value);
  const pairs = Object.entries(map).map(
    ([came, value]) => `${json(came)} = ${value === null ? 'no value' : json(value)}`,
  );
  const reading = [
    ...(type === undefined ? ((decimal ?? radix) === undefined ? [] : ['number']) : [type]),
    ...(decimal === undefined ? [] : [`decimal ${json(decimal)}`]),
    ...(radix === undefined ? [] : [`base ${radix}`]),
  ];
  const field = [
    ...(bits === undefined ? [] : [`${bits} bits`]),
    ...(bytes === undefined ? [] : [`${bytes} byte`]),
    ...(mask === undefined ? [] : [`mask 0x${mask.toString(16)}`]),
    ...(shift === undefined || shift === 0 ? [] : [`shift ${shift}`]),
    ...(signed === true ? ["two's complement"] : signMagnitude === true ? ['sign bit'] : []),
    ...(bcd === true ? ['BCD'] : []),
  ];
  const steps: readonly (readonly string[])[] = [
    nulls.length === 0 ? [] : [`no value: ${nulls.map(json).join(' ')}`],
    pairs,
    reading,
    field,
    table === undefined ? [] : [`table of ${table.length} points`],
    scale === undefined ? [] : [`× ${scale}`],
    offset === undefined ? [] : [`${offset < 0 ? '-' : '+'} ${Math.abs(offset)}`],
    min === undefined && max === undefined ? [] : [`${min ?? ''}…${max ?? ''}`],
    maxStep === undefined ? [] : [`at most ${maxStep.by} per ${formatDuration(maxStep.perMs)}`],
  ];
  return steps.filter((step) => step.length > 0).map((step) => step.join(', '));
}

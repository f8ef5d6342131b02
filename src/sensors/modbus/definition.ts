/** A Modbus unit, by a table of its registers. One key per register. */
import { z } from 'zod';
import { modbusConnection } from '../../config/fields/addresses.ts';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { bitFaults, typeAfter } from '../../config/fields/conversion.ts';
import { list, platformKey, section, table, whole } from '../../config/fields/fields.ts';
import { type Finding, finding, noEffect, type Placed } from '../../config/fields/findings.ts';
import { MODBUS_TYPES } from '../../config/fields/modbus-types.ts';
import {
  endFaults,
  modbusWidth,
  noBits,
  noConversion,
  numberFaults,
  registerMeaning,
  requestCounts,
  scaleFaults,
  unitFaults,
  wireAddress,
} from '../../config/fields/registers.ts';
import { type ConfigOf, defineSensor, sensorSection, type ValueType } from '../kind/definition.ts';

/** Reading a few unused registers costs less than another request (2 bytes each against 8 bytes and a turn-around). */
const DEFAULT_MAX_GAP = 8;

const register = section({
  table: z.enum(['holding', 'input', 'coil', 'discrete']).default('holding'),
  /** From 0, as on the wire; not 40001. */
  address: wireAddress(),
  type: z.enum(MODBUS_TYPES).default('uint16'),
  /** Which 16-bit word of a longer number comes first. */
  wordOrder: z.enum(['big', 'little']).default('big'),
  byteOrder: z.enum(['big', 'little']).default('big'),
  /** For `bool` in a 16-bit register. */
  bit: whole(0, 15).optional(),
  /** For `string`: its registers. */
  length: whole(1, 125).optional(),
  ...registerMeaning,
  /** Register or key with the power of ten of this number, as SunSpec's sf; the register is an int16 of the same table. */
  scaleFrom: z.union([whole(0, 65_535), platformKey()]).optional(),
});

const schema = sensorSection('modbus', () => ({
  connection: modbusConnection,
  /** Unit (slave) address. */
  unitId: whole(0, 255).default(1),
  /** Meter whose registers are known: `turnstone models` lists them. */
  model: z.string().min(1).max(64).optional(),
  /** Keys of the model to read; all when not given. */
  only: list(platformKey(), { min: 1 }).optional(),
  /** Beside those of the model, or over them. */
  registers: table(platformKey(), register).default({}),
  /** Registers this far apart are still read in one request. */
  maxGap: whole(0, 100).default(DEFAULT_MAX_GAP),
}));

export type ModbusConfig = ConfigOf<typeof schema>;
export type ModbusRegister = ModbusConfig['registers'][string];

export const modbus = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  keys: ({ registers }) => Object.keys(registers),
  digitTexts: ({ registers }) => Object.keys(registers).filter((key) => registers[key]?.type === 'string'),
  valueType: ({ registers }, key) => typeOfRegister(registers[key]),
  // Each request answered just in time leaves all of them in one read.
  waitMs: (config) => countsOf(config).length * config.connection.responseTimeoutMs,
  faultsAmong: periodFaults,
  faults: (config, path) => {
    const all = Object.entries(config.registers).map(([key, register]) => ({
      register,
      at: [...path, 'registers', key],
    }));
    return [
      ...unitFaults(config, path),
      ...emptyFaults(config, path),
      ...all.flatMap(({ register, at }) => meaningFaults(register, at)),
      ...all.flatMap(({ register, at }) => typeFaults(register, at)),
      ...(config.model === undefined ? numberFaults(all) : []),
      ...all.flatMap(({ register, at }) => factorFaults(register, config.registers, at)),
    ];
  },
  remedy: () => 'check wiring (A, B, ground), baud rate, parity and unit address',
});

function countsOf({ registers, maxGap }: ModbusConfig): readonly number[] {
  return requestCounts(Object.values(registers), maxGap);
}

/** Time that a unit of today takes to answer, beside that on the wire. */
const ANSWER_MS = 20;
/** Bytes of a request and of an answer without its registers, and the silence around them, in characters (V1.02, section 2.5.1). */
const FRAME_CHARACTERS = 8 + 5 + 7;
const BITS_PER_CHARACTER = 11;

/** Least time of a read on the wire. */
function readMs(config: ModbusConfig): number {
  const { connection } = config;
  const counts = countsOf(config);
  const characters = counts.reduce((sum, count) => sum + FRAME_CHARACTERS + 2 * count, 0);
  const wireMs = 'baudRate' in connection ? (characters * BITS_PER_CHARACTER * 1_000) / connection.baudRate : 0;
  return wireMs + counts.length * (ANSWER_MS + connection.betweenRequestsMs);
}

/** Warns of a line on which the registers of all sensors take longer than their periods leave. */
function periodFaults(sensors: readonly Placed<ModbusConfig>[]): Finding[] {
  const lines = Map.groupBy(
    sensors.filter(({ config }) => config.enabled),
    ({ config: { connection } }) => ('host' in connection ? `${connection.host}:${connection.port}` : connection.port),
  );
  return [...lines.values()].flatMap((sharing) => {
    const share = sharing.reduce((sum, { config }) => sum + readMs(config) / config.periodMs, 0);
    const [first] = sharing;
    if (share <= 1 || first === undefined) return [];
    const requests = sharing.reduce((sum, { config }) => sum + countsOf(config).length, 0);
    const problem = `too short for the ${requests} requests of its line, which take ${share.toFixed(1)} times as long:`;
    const expected = 'a longer period, a larger maxGap, fewer registers (only:), or a higher baud rate';
    return [finding([...first.path, 'period'], problem, expected, { warning: true })];
  });
}

/** A model that is not known is told of by itself. */
function emptyFaults({ model, only, registers }: ModbusConfig, path: ConfigPath): Finding[] {
  if (model !== undefined) return [];
  const unused = only === undefined ? [] : [noEffect(path, 'only', 'a model, or no such option')];
  if (Object.keys(registers).length > 0) return unused;
  return [
    ...unused,
    { path: [...path, 'registers'], problem: 'no register', expected: 'at least one, or model: with the name of one' },
  ];
}

function typeOfRegister(register: ModbusRegister | undefined): ValueType | undefined {
  if (register === undefined) return undefined;
  const { table: of, type, map = {} } = register;
  const isBit = of === 'coil' || of === 'discrete' || type === 'bool';
  return typeAfter({ map }, isBit ? 'boolean' : type === 'string' ? 'string' : 'number');
}

/** The register of a scale factor. */
export function scaleRegister(address: number): ModbusRegister {
  return register.parse({ address, type: 'int16' });
}

function meaningFaults(register: ModbusRegister, path: ConfigPath): Finding[] {
  const { type, table: of, bit, length } = register;
  const findings = [...endFaults(register, path), ...scaleFaults(register, path)];
  if ((of === 'coil' || of === 'discrete') && bit !== undefined)
    findings.push({ path: [...path, 'bit'], problem: `a ${of} is one bit:`, expected: 'no bit' });
  if (length !== undefined && type !== 'string')
    findings.push({
      path: [...path, 'length'],
      problem: 'a length of what has its own:',
      expected: 'type: string, or no length',
    });
  if (type === 'bool' || type === 'string') findings.push(...noConversion(register, path, type));
  if (type === 'bool' || type === 'string' || type.startsWith('float')) findings.push(...noBits(register, path, type));
  else findings.push(...bitFaults(register, path, 16 * modbusWidth(register)));
  return findings;
}

/** A factor that another key gives, and that is a whole number. */
function factorFaults(
  { scaleFrom, type }: ModbusRegister,
  registers: ModbusConfig['registers'],
  path: ConfigPath,
): Finding[] {
  if (scaleFrom === undefined) return [];
  if (type === 'bool' || type === 'string') return [noEffect(path, 'scaleFrom', `a type of number instead of ${type}`)];
  const factor = typeof scaleFrom === 'string' ? registers[scaleFrom] : undefined;
  if (typeof scaleFrom === 'number' || (factor !== undefined && factor.scaleFrom === undefined)) return [];
  return [
    finding(
      [...path, 'scaleFrom'],
      'no key with a scale factor:',
      'the address of its register, or the key of another register',
    ),
  ];
}

function typeFaults({ type, bit, length, table: of }: ModbusRegister, path: ConfigPath): Finding[] {
  if (bit !== undefined && type !== 'bool')
    return [{ path: [...path, 'bit'], problem: 'a bit of a number:', expected: 'type: bool, or no bit' }];
  if (type === 'string' && length === undefined)
    return [{ path: [...path, 'type'], problem: 'no length for', expected: 'length: with the number of registers' }];
  if ((of === 'coil' || of === 'discrete') && type !== 'bool')
    return [{ path: [...path, 'type'], problem: `a ${of} is one bit:`, expected: 'type: bool' }];
  return [];
}

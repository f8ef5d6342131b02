/** A simulated board that fits a configuration: whatever the configuration names is on it, and behaves like a room. */
import type { ActuatorConfig, AgentConfig, GpioLineConfig, SensorConfig, SensorConfigOf } from '../config/agent-config.ts';
import { namedGroups } from '../config/sensor-keys.ts';
import type { BoardConfigInput } from '../simulated-board/board-config.ts';

type Signal = NonNullable<NonNullable<BoardConfigInput['gpio']>[number]['inputs']>[number]['signal'];
type I2cSensor = Extract<SensorConfig, { readonly bus: number }>;

/** What a room shows, by key; anything else wanders around 50. */
const SIGNALS: Readonly<Record<string, Signal>> = {
  temperature: { kind: 'room', base: 21.5, day: 2.5, drift: 0.4, noise: 0.02 },
  humidity: { kind: 'room', base: 45, day: -6, drift: 2, noise: 0.1, min: 5, max: 95 },
  pressure: { kind: 'room', base: 1013.2, day: 0.5, drift: 1.5, noise: 0.02 },
  illuminance: { kind: 'room', base: 400, day: 380, drift: 10, noise: 2, min: 0 },
  voltage: { kind: 'room', base: 12.3, drift: 0.1, noise: 0.005 },
  current: { kind: 'room', base: 0.8, drift: 0.2, noise: 0.005, min: 0 },
};
const ANY: Signal = { kind: 'room', base: 50, day: 5, drift: 2, noise: 0.2 };
const DOOR: Signal = { kind: 'door', perHour: 60, openMs: 8_000 };
const PULSES: Signal = { kind: 'square', hz: 2 };
/** Lines that are named but not numbered get numbers from here on; BCM numbers keep theirs. */
const FIRST_FREE_OFFSET = 64;
const LINES = 128;
const FIRST_THERMOMETER = '28-000000000001';

export function boardForConfig(config: AgentConfig): BoardConfigInput {
  const { sensors, actuators } = config;
  return {
    version: 1,
    gpio: gpioChips(config),
    i2c: i2cBuses(sensors.filter((sensor): sensor is I2cSensor => 'bus' in sensor)),
    serial: serialPorts(sensors, actuators),
    modbusTcp: modbusHosts([...sensors, ...actuators]),
    oneWire: sensors.flatMap((sensor) =>
      sensor.kind === 'ds18b20' ? [{ id: sensor.id ?? FIRST_THERMOMETER, signal: signalOf('temperature') }] : [],
    ),
    pwm: [...new Set(actuators.flatMap((actuator) => (actuator.kind === 'pwm' ? [actuator.chip] : [])))].map((chip) => ({
      chip,
      channels: 8,
    })),
  };
}

function gpioChips({ sensors, actuators, rpc }: AgentConfig): NonNullable<BoardConfigInput['gpio']> {
  const chips = new Map<string, { names: Record<string, string>; inputs: { offset: number; key: string; signal: Signal }[] }>();
  let free = FIRST_FREE_OFFSET;
  const place = (line: GpioLineConfig): { readonly chip: string; readonly offset: number } => {
    const bcm = typeof line === 'string' ? /^GPIO(\d+)$/.exec(line)?.[1] : undefined;
    const chip = typeof line === 'string' ? 'gpiochip0' : line.chip;
    const offset = typeof line !== 'string' ? line.offset : bcm === undefined ? free++ : Number(bcm);
    const known = chips.get(chip) ?? { names: {}, inputs: [] };
    if (typeof line === 'string') known.names[offset] = line;
    chips.set(chip, known);
    return { chip, offset };
  };
  for (const sensor of sensors) {
    if (!('line' in sensor)) continue;
    const { chip, offset } = place(sensor.line);
    chips.get(chip)?.inputs.push({ offset, key: sensor.name, signal: sensor.kind === 'gpio-input' ? DOOR : PULSES });
  }
  for (const actuator of actuators) if (actuator.kind === 'gpio-output') place(actuator.line);
  if (rpc.lockout.line !== undefined) place(rpc.lockout.line);
  return [...chips].map(([chip, parts]) => ({ chip, label: chip, lines: LINES, ...parts }));
}

function i2cBuses(sensors: readonly I2cSensor[]): NonNullable<BoardConfigInput['i2c']> {
  return [...new Set(sensors.map(({ bus }) => bus))].map((bus) => ({
    bus,
    chips: sensors
      .filter((sensor) => sensor.bus === bus)
      .map((sensor) => ({ kind: sensor.kind, address: sensor.address, signals: chipSignals(sensor), options: chipOptions(sensor) })),
  }));
}

function chipSignals(sensor: I2cSensor): Record<string, Signal> {
  if (sensor.kind === 'ads1115')
    return Object.fromEntries(Object.values(sensor.channels).map(({ input, rangeVolts }) => [input, withinRange(rangeVolts)]));
  if (sensor.kind === 'i2c-register') return Object.fromEntries(Object.keys(sensor.registers).map((key) => [key, ANY]));
  return SIGNALS;
}

function chipOptions(sensor: I2cSensor): Record<string, unknown> {
  if (sensor.kind === 'ina219') return { shuntOhms: sensor.shuntOhms };
  return sensor.kind === 'i2c-register' ? { registers: sensor.registers } : {};
}

type SerialPort = NonNullable<BoardConfigInput['serial']>[number];

function serialPorts(sensors: readonly SensorConfig[], actuators: readonly ActuatorConfig[]): SerialPort[] {
  const ports = new Map<string, SerialPort['talk']>();
  for (const device of [...sensors, ...actuators]) {
    if (device.kind === 'serial-line') ports.set(device.port, lineTalk(device));
    if (device.kind === 'serial-write') ports.set(device.port, { kind: 'listener', reply: 'OK\n' });
    if (device.kind === 'nmea')
      ports.set(device.port, { kind: 'nmea', latitude: constant(47.07), longitude: constant(15.44), speedKnots: constant(0.2) });
    if (!isModbus(device) || device.connection.transport !== 'rtu') continue;
    const { port } = device.connection;
    const sharing = [...sensors, ...actuators]
      .filter(isModbus)
      .filter(({ connection }) => connection.transport === 'rtu' && connection.port === port);
    ports.set(port, { kind: 'modbus', units: modbusUnits(sharing) });
  }
  return [...ports].map(([port, talk]) => ({ port, pty: false, talk }));
}

function lineTalk(sensor: SensorConfigOf<'serial-line'>): SerialPort['talk'] {
  const keys = lineKeys(sensor);
  const values = Object.fromEntries(keys.map((key) => [key, { signal: signalOf(key) }]));
  const template = sensor.format === 'number' ? `{${sensor.key}}` : sensor.format === 'regex' ? textLike(sensor.pattern ?? '') : '';
  const period = sensor.request === undefined ? { periodMs: sensor.periodMs } : {};
  return {
    kind: 'lines',
    format: sensor.format === 'csv' || sensor.format === 'json' ? sensor.format : 'text',
    template,
    terminator: sensor.delimiter,
    values,
    ...period,
  };
}

/** A line that a simple pattern takes, with its groups as places for values: `^T=(?<t>[\d.]+)\s+C` → `T={t} C`. */
function textLike(pattern: string): string {
  return pattern
    .replace(/^\^|\$$/g, '')
    .replace(/\(\?<([^=!>]+)>(?:[^()\\]|\\.)*\)/g, '{$1}')
    .replace(/(?:\\s|\\b|\.| )[*+?]?/g, ' ')
    .replace(/\\(.)/g, '$1')
    .replace(/[()?*+|[\]^$]/g, '');
}

function lineKeys(sensor: SensorConfigOf<'serial-line'>): readonly string[] {
  if (sensor.format === 'number') return [sensor.key];
  if (sensor.format === 'csv') return (sensor.columns ?? []).map((column, index) => (column === '' ? `column${index}` : column));
  return sensor.format === 'regex' ? namedGroups(sensor.pattern ?? '') : ['temperature', 'humidity'];
}

type ModbusDevice = Extract<SensorConfig | ActuatorConfig, { readonly kind: 'modbus' | 'modbus-write' }>;
type ModbusUnits = NonNullable<BoardConfigInput['modbusTcp']>[number]['units'];
type ModbusTable = 'holding' | 'input' | 'coil' | 'discrete';

function isModbus(device: SensorConfig | ActuatorConfig): device is ModbusDevice {
  return device.kind === 'modbus' || device.kind === 'modbus-write';
}

/** Every unit that stands behind a TCP host; the agent asks the board where that really is. */
function modbusHosts(devices: readonly (SensorConfig | ActuatorConfig)[]): NonNullable<BoardConfigInput['modbusTcp']> {
  const hosts = new Map<string, { readonly host: string; readonly port: number; readonly devices: ModbusDevice[] }>();
  for (const device of devices.filter(isModbus)) {
    if (device.connection.transport !== 'tcp') continue;
    const { host, port } = device.connection;
    const known = hosts.get(`${host}:${port}`) ?? { host, port, devices: [] };
    known.devices.push(device);
    hosts.set(`${host}:${port}`, known);
  }
  return [...hosts.values()].map(({ host, port, devices: behind }) => ({ host, port, units: modbusUnits(behind) }));
}

function modbusUnits(devices: readonly ModbusDevice[]): ModbusUnits {
  const units: Record<string, Record<ModbusTable, Record<string, Signal>>> = {};
  for (const device of devices) {
    const unit = units[device.unitId] ?? { holding: {}, input: {}, coil: {}, discrete: {} };
    units[device.unitId] = unit;
    for (const { table, address } of device.kind === 'modbus' ? Object.values(device.registers) : [device]) {
      const isBit = table === 'coil' || table === 'discrete';
      // A 64-bit number has four registers, a name up to a dozen: all of them can be read.
      for (let at = address; at < address + 16; at += 1) unit[table][at] ??= constant(isBit ? 0 : at % 100);
    }
  }
  return units;
}

function signalOf(key: string): Signal {
  return SIGNALS[key] ?? ANY;
}

/** Well within a converter's range. */
function withinRange(volts: number): Signal {
  return { kind: 'room', base: 0.4 * volts, drift: 0.1 * volts, noise: 0.001 * volts };
}

function constant(value: number): Signal {
  return { kind: 'constant', value };
}

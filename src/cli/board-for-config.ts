/** A simulated board that fits a configuration: whatever the configuration names is on it, and behaves like a room. */

import { writtenRegisters } from '../config/fields/written-registers.ts';
import { sensorKeys } from '../config/keys/sensor-keys.ts';
import type { ActuatorConfig, AgentConfig, GpioLineConfig, SensorConfig } from '../config/schema/agent-config.ts';
import { placesOf } from '../kinds/actuator-kinds.ts';
import type { BoardConfigInput } from '../stand-ins/simulated-board/board-config.ts';
import { ROOM_SIGNALS } from '../stand-ins/simulated-board/room-signals.ts';
import type { Fitting, KernelInput, Twins } from '../stand-ins/simulated-board/twin.ts';

type Signal = NonNullable<NonNullable<BoardConfigInput['gpio']>[number]['inputs']>[number]['signal'];
type I2cSensor = Extract<SensorConfig, { readonly bus: number }>;

const PULSES: Signal = { kind: 'square', hz: 2 };
/** Lines that are named but not numbered get numbers from here on; BCM numbers keep theirs. */
const FIRST_FREE_OFFSET = 64;
const LINES = 128;

export function boardForConfig(config: AgentConfig, twins: Twins): BoardConfigInput {
  const { sensors, actuators } = config;
  const fitted = sensors.map((sensor) => ({ sensor, fit: fittingOf(sensor, twins) }));
  return {
    version: 1,
    gpio: gpioChips(config, fitted),
    i2c: i2cBuses(fitted),
    serial: serialPorts(fitted, actuators),
    modbusTcp: modbusHosts(fitted, actuators),
    http: fitted.flatMap(({ fit: { http } }) => http ?? []),
    oneWire: fitted.flatMap(({ fit: { oneWire } }) => (oneWire === undefined ? [] : [oneWire])),
    kernel: kernelDevices(fitted),
    pwm: [...new Set(actuators.flatMap((actuator) => placesOf(actuator).chip ?? []))].map((chip) => ({
      chip,
      channels: 8,
    })),
  };
}

interface Fitted {
  readonly sensor: SensorConfig;
  readonly fit: Fitting;
}

/** Returns each device once: several sensors may read channels of the same one. */
function kernelDevices(fitted: readonly Fitted[]): NonNullable<BoardConfigInput['kernel']> {
  const devices = new Map<string, KernelInput>();
  for (const {
    fit: { kernel },
  } of fitted) {
    if (kernel === undefined) continue;
    const id = `${kernel.of} ${kernel.name} ${kernel.place}`;
    const files = Object.assign({}, devices.get(id)?.files, kernel.files);
    devices.set(id, { of: kernel.of, name: kernel.name, place: kernel.place, files });
  }
  return [...devices.values()];
}

function fittingOf(sensor: SensorConfig, twins: Twins): Fitting {
  // A kind's twin takes configurations of that kind.
  return twins.get(sensor.kind)?.fitting?.(sensor as never, sensorKeys(sensor) ?? []) ?? {};
}

function gpioChips({ actuators, rpc }: AgentConfig, fitted: readonly Fitted[]): NonNullable<BoardConfigInput['gpio']> {
  const chips = new Map<
    string,
    { names: Record<string, string>; inputs: { offset: number; key: string; signal: Signal }[] }
  >();
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
  for (const { sensor, fit } of fitted) {
    if (!('line' in sensor)) continue;
    const { chip, offset } = place(sensor.line);
    chips.get(chip)?.inputs.push({ offset, key: sensor.name, signal: fit.line ?? PULSES });
  }
  for (const { line } of actuators.map(placesOf)) if (line !== undefined) place(line);
  if (rpc.lockout.line !== undefined) place(rpc.lockout.line);
  return [...chips].map(([chip, parts]) => ({ chip, label: chip, lines: LINES, ...parts }));
}

function i2cBuses(fitted: readonly Fitted[]): NonNullable<BoardConfigInput['i2c']> {
  const onBus = fitted.filter((one): one is Fitted & { readonly sensor: I2cSensor } => 'bus' in one.sensor);
  return [...new Set(onBus.map(({ sensor }) => sensor.bus))].map((bus) => ({
    bus,
    chips: onBus.flatMap(({ sensor, fit: { signals = ROOM_SIGNALS, options = {} } }) =>
      sensor.bus === bus ? [{ kind: sensor.kind, address: sensor.address, signals, options }] : [],
    ),
  }));
}

type SerialPort = NonNullable<BoardConfigInput['serial']>[number];

function serialPorts(fitted: readonly Fitted[], actuators: readonly ActuatorConfig[]): SerialPort[] {
  const ports = new Map<string, SerialPort['talk']>();
  const devices = [...fitted.map(({ sensor }) => sensor), ...actuators];
  for (const { sensor, fit } of fitted)
    if ('port' in sensor && fit.talk !== undefined) ports.set(sensor.port, onOnePort(ports.get(sensor.port), fit.talk));
  for (const { port } of actuators.map(placesOf))
    if (port !== undefined) ports.set(port, { kind: 'listener', reply: 'OK\n' });
  for (const device of devices) {
    if (!isModbus(device) || 'host' in device.connection) continue;
    const { port, transport } = device.connection;
    const sharing = devices.filter(isModbus).filter(({ connection }) => connection.port === port);
    ports.set(port, { kind: 'modbus', framing: transport, units: modbusUnits(sharing, fitted) });
  }
  return [...ports].map(([port, talk]) => ({ port, pty: false, talk }));
}

/** Returns what speaks on a port: devices that answer requests of their own share it; of others the last one is there. */
function onOnePort(before: SerialPort['talk'] | undefined, talk: SerialPort['talk']): SerialPort['talk'] {
  if (before?.kind !== 'answers' || talk.kind !== 'answers') return talk;
  return { kind: 'answers', answers: Object.assign({}, before.answers, talk.answers) };
}

type ModbusDevice = Extract<SensorConfig | ActuatorConfig, { readonly connection: unknown }>;
type ModbusUnits = NonNullable<BoardConfigInput['modbusTcp']>[number]['units'];
type Framing = NonNullable<NonNullable<BoardConfigInput['modbusTcp']>[number]['framing']>;
type ModbusTable = 'holding' | 'input' | 'coil' | 'discrete';

function isModbus(device: SensorConfig | ActuatorConfig): device is ModbusDevice {
  return 'connection' in device;
}

const FRAMINGS = { tcp: 'tcp', 'rtu-over-tcp': 'rtu', 'ascii-over-tcp': 'ascii' } as const;

/** Every unit that stands behind a TCP host; the agent asks the board where that really is. */
function modbusHosts(
  fitted: readonly Fitted[],
  actuators: readonly ActuatorConfig[],
): NonNullable<BoardConfigInput['modbusTcp']> {
  const devices = [...fitted.map(({ sensor }) => sensor), ...actuators];
  const hosts = new Map<
    string,
    { readonly host: string; readonly port: number; readonly framing: Framing; readonly devices: ModbusDevice[] }
  >();
  for (const device of devices.filter(isModbus)) {
    if (!('host' in device.connection)) continue;
    const { host, port, transport } = device.connection;
    const known = hosts.get(`${host}:${port}`) ?? { host, port, framing: FRAMINGS[transport], devices: [] };
    known.devices.push(device);
    hosts.set(`${host}:${port}`, known);
  }
  return [...hosts.values()].map(({ devices: behind, ...place }) => ({ ...place, units: modbusUnits(behind, fitted) }));
}

function modbusUnits(devices: readonly ModbusDevice[], fitted: readonly Fitted[]): ModbusUnits {
  const units: Record<string, Record<ModbusTable, Record<string, Signal>>> = {};
  for (const device of devices) {
    const unit = units[device.unitId] ?? { holding: {}, input: {}, coil: {}, discrete: {} };
    units[device.unitId] = unit;
    Object.assign(unit.holding, fitted.find(({ sensor }) => sensor === device)?.fit.holding);
    for (const { table, address } of registersOf(device)) {
      const isBit = table === 'coil' || table === 'discrete';
      // A 64-bit number has four registers, a name up to a dozen: all of them can be read.
      for (let at = address; at < address + 16; at += 1) unit[table][at] ??= constant(isBit ? 0 : at % 100);
    }
  }
  return units;
}

/** Registers that a sensor reads or an output writes. */
function registersOf(device: ModbusDevice): readonly { readonly table: ModbusTable; readonly address: number }[] {
  if (device.kind === 'modbus-write')
    return writtenRegisters(device).map(({ address }) => ({ table: device.table, address }));
  return 'registers' in device ? Object.values(device.registers) : [];
}

function constant(value: number): Signal {
  return { kind: 'constant', value };
}

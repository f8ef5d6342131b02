/** Equipment of a gateway: each site has some of it, as its seed says, written as a technician would. */
import type { BoardConfigInput } from '../../src/stand-ins/simulated-board/board-config.ts';
import type { Chance } from './chance.ts';

export const MAX_ON_MS = 45_000;
export const MOTORS = ['motorUp', 'motorDown'] as const;
/** Active while somebody works on the plant. */
export const KEY_SWITCH = 'gpiochip0:6';
export const METER_PORT = '/dev/ttyUSB0';
/** Constant content of its registers; two are asked for alike. */
export const METER_SHOWS = { voltage: 0, energy: 6 * 65_536 + 7, power: 60, flow: 90 } as const;
export const STATION_PORT = '/dev/ttyUSB1';
export const SCALE_PORT = '/dev/ttyUSB2';
export const GPS_PORT = '/dev/ttyACM0';
export const GAUGE_PORT = '/dev/ttyUSB3';
export const SCANNER_PORT = '/dev/ttyUSB4';
/** A room's temperature rises past these in the first hours of a world, which begins at midnight. */
const CROSSED_CELSIUS = [19, 19.2, 19.4, 19.7] as const;
/** Keys that the platform would lose with all of their instant, and a number that no double next to it is. */
const GAUGE_SAYS = {
  level: { signal: { kind: 'ramp', from: 1, to: 90, periodMs: 3_600_000 } },
  '{{site}} level': { signal: { kind: 'ramp', from: 1, to: 90, periodMs: 7_200_000 } },
  'level<max': { signal: { kind: 'constant', value: 90 } },
  turns: { signal: { kind: 'ramp', from: 2 ** 60, to: 2 ** 61, periodMs: 86_400_000 }, digits: 0 },
} as const;
export const SCANNER = 'scanner';
/** So much that a segment of a small outbox is full within ten minutes. */
const SCANNER_SAYS = {
  format: 'text',
  template: `{"scan":"${'4006381333931|'.repeat(16)}{number}"}`,
  values: { number: { signal: { kind: 'ramp', from: 1, to: 1e6, periodMs: 86_400_000 }, digits: 3 } },
} as const;
const BOTH_OFF = { safeStart: false, safeStop: false } as const;

/** An output as the witness judges it. */
export interface Output {
  readonly name: string;
  /** As the board names it. */
  readonly line: string;
  /** On is the low level. */
  readonly activeLow?: boolean;
  /** The longest that it may be on, ms. */
  readonly maxOnMs?: number;
  /** Has a least time off. */
  readonly hasMinOff?: boolean;
  /** Outputs that are never on together with it. */
  readonly excludes: readonly string[];
  readonly safeStart?: boolean;
  readonly safeStop?: boolean;
  /** Use that people make of it; one that is pulsed is never set, and a free one moves for other reasons too. */
  readonly use: 'set' | 'pulsed' | 'toggled' | 'free';
}

export interface Equipment {
  /** Lines of the configuration. */
  readonly sensors: readonly string[];
  readonly actuators: readonly string[];
  readonly rules: readonly string[];
  readonly outputs: readonly Output[];
  /** Sensor and how often it is read, ms. */
  readonly periods: ReadonlyMap<string, number>;
  /** The board's faults may hit these. */
  readonly parts: readonly string[];
}

interface Drawn {
  readonly slower: number;
  readonly sensors: string[];
  readonly actuators: string[];
  readonly rules: string[];
  readonly outputs: Output[];
  readonly periods: Map<string, number>;
  readonly parts: string[];
}

export interface EquipmentOptions {
  /** Exactly so many sensors of ten seconds, and nothing else that is read. */
  readonly sensors?: number;
  /** All sensors are read so many times more seldom. */
  readonly slower?: number;
}

export function drawEquipment(chance: Chance, { sensors: rooms, slower = 1 }: EquipmentOptions): Equipment {
  const drawn: Drawn = { slower, sensors: [], actuators: [], rules: [], outputs: [], periods: new Map(), parts: [] };
  roomSensors(drawn, chance, rooms);
  motorsAndRelays(drawn, chance);
  if (rooms === undefined) {
    const extras: readonly ((drawn: Drawn, chance: Chance) => void)[] = [
      counter,
      thermometer,
      light,
      station,
      scale,
      meterAndSiren,
      position,
      pump,
      fan,
      vent,
      lamp,
    ];
    for (const extra of extras) if (chance.happens(0.35)) extra(drawn, chance);
    // Not drawn, so that whatever is drawn after it stays as it was.
    if (drawn.outputs.length % 3 === 0) gauge(drawn);
    if (drawn.sensors.length % 4 === 1) scanner(drawn);
  }
  return drawn;
}

/** Replaces likely signals of `boardForConfig`: pulses and sentences come so seldom that a world passes quickly. */
export function slowed(board: BoardConfigInput): BoardConfigInput {
  return {
    ...board,
    gpio: (board.gpio ?? []).map((chip) => ({
      ...chip,
      inputs: (chip.inputs ?? []).map((input) =>
        input.key === 'water' ? { ...input, signal: { kind: 'square', hz: 0.1 } } : input,
      ),
    })),
    serial: (board.serial ?? []).map((port) => {
      if (port.talk.kind === 'nmea') return { ...port, talk: { ...port.talk, periodMs: 5_000 } };
      if (port.talk.kind !== 'lines') return port;
      if (port.port === GAUGE_PORT) return { ...port, talk: { ...port.talk, values: GAUGE_SAYS } };
      return port.port === SCANNER_PORT ? { ...port, talk: { ...port.talk, ...SCANNER_SAYS } } : port;
    }),
  };
}

function sensor({ slower, sensors, periods }: Drawn, name: string, seconds: number, words: string): void {
  sensors.push(`  - { name: ${name}, period: ${seconds * slower}s, ${words} }`);
  periods.set(name, seconds * slower * 1_000);
}

function output({ actuators, outputs }: Drawn, one: Output, words = ''): void {
  const [chip, offset] = one.line.split(':');
  const states = Object.entries({ start: one.safeStart, stop: one.safeStop }).flatMap(([when, on]) =>
    on === undefined ? [] : [`${when}: ${on ? 'on' : 'off'}`],
  );
  const safe = states.length === 0 ? '' : `, safe: { ${states.join(', ')} }`;
  const low = one.activeLow === true ? ', activeLow: true' : '';
  actuators.push(
    `  - { name: ${one.name}, kind: gpio-output, line: { chip: ${chip}, offset: ${offset} }${safe}${low}${words} }`,
  );
  outputs.push(one);
}

function roomSensors(drawn: Drawn, chance: Chance, rooms: number | undefined): void {
  const chips = rooms ?? chance.between(2, 8);
  for (let n = 0; n < chips; n += 1) {
    const seconds = rooms === undefined ? chance.pick([2, 5, 10, 10, 30, 60]) : 10;
    const limit = chance.pick(CROSSED_CELSIUS);
    const kinds = [
      '',
      `, alarms: [{ above: ${limit + 0.3}, hysteresis: 0.1 }, { below: ${limit} }]`,
      `, alarms: [{ above: ${limit - 0.1}, hysteresis: 0.05 }, { above: ${limit}, name: high }]`,
      ', deadband: 0.3, maxInterval: 10m',
    ];
    const rules = rooms === undefined ? chance.pick(kinds) : '';
    sensor(
      drawn,
      `room${n}`,
      seconds,
      `kind: bme280, bus: ${n >> 1}, address: ${0x76 + (n & 1)}, keys: { temperature: { rename: temperature${n}${rules} }, humidity: { report: false }, pressure: { report: false } }`,
    );
  }
  sensor(
    drawn,
    'door',
    60,
    'kind: gpio-input, line: { chip: gpiochip0, offset: 4 }, keys: { state: { rename: doorOpen, maxInterval: 10m } }',
  );
}

function motorsAndRelays(drawn: Drawn, chance: Chance): void {
  const [up, down] = MOTORS;
  const low = (): { activeLow?: boolean } => (chance.happens(0.25) ? { activeLow: true } : {});
  output(
    drawn,
    { name: up, line: 'gpiochip0:20', excludes: [down], ...BOTH_OFF, use: 'set' },
    `, interlocks: [${down}]`,
  );
  output(drawn, { name: down, line: 'gpiochip0:21', excludes: [up], ...BOTH_OFF, use: 'set' });
  const heater = {
    name: 'heater',
    line: 'gpiochip0:22',
    excludes: [],
    maxOnMs: MAX_ON_MS,
    ...BOTH_OFF,
    use: 'set',
  } as const;
  output(drawn, { ...heater, ...low() }, `, limits: { maxOn: ${MAX_ON_MS / 1_000}s }`);
  output(drawn, { name: 'bell', line: 'gpiochip0:23', excludes: [], ...BOTH_OFF, use: 'toggled', ...low() });
  output(drawn, { name: 'flap', line: 'gpiochip0:24', excludes: [], ...BOTH_OFF, use: 'pulsed', ...low() });
  // An output that a killed life leaves on is switched off only by its mark.
  if (drawn.periods.size % 2 === 0) output(drawn, { name: 'gate', line: 'gpiochip0:29', excludes: [], use: 'pulsed' });
}

function counter(drawn: Drawn): void {
  sensor(
    drawn,
    'water',
    30,
    'kind: gpio-counter, line: { chip: gpiochip0, offset: 5 }, keys: { total: { rename: waterTotal } }',
  );
}

function thermometer(drawn: Drawn): void {
  sensor(
    drawn,
    'boiler',
    20,
    'kind: ds18b20, id: 28-000000000001, keys: { temperature: { rename: boilerTemperature } }',
  );
  drawn.parts.push('28-000000000001', 'one-wire');
}

function light(drawn: Drawn): void {
  sensor(drawn, 'light', 15, 'kind: bh1750, bus: 5, address: 35');
  drawn.parts.push('i2c-5:0x23', 'i2c-5');
}

/** Speaks by itself. */
function station(drawn: Drawn): void {
  const keys = 'keys: { temperature: { rename: outside }, humidity: { rename: outsideHumidity } }';
  sensor(drawn, 'station', 20, `kind: serial-line, port: ${STATION_PORT}, format: json, ${keys}`);
  drawn.parts.push(STATION_PORT);
}

/** Speaks when it is asked. */
function scale(drawn: Drawn): void {
  sensor(
    drawn,
    'scale',
    12,
    `kind: serial-line, port: ${SCALE_PORT}, request: "SI\\r\\n", format: number, key: weight`,
  );
  drawn.parts.push(SCALE_PORT);
}

/** Made far away: nobody here would name or count like that. */
function gauge(drawn: Drawn): void {
  sensor(drawn, 'gauge', 25, `kind: serial-line, port: ${GAUGE_PORT}, format: json`);
  drawn.parts.push(GAUGE_PORT);
}

/** Where it is, the outbox is small: what is taken in an outage fills segment after segment. */
function scanner(drawn: Drawn): void {
  sensor(drawn, SCANNER, 2, `kind: serial-line, port: ${SCANNER_PORT}, format: json`);
  drawn.parts.push(SCANNER_PORT);
}

/** A meter, and a relay on the same line. */
function meterAndSiren(drawn: Drawn): void {
  const connection = `connection: { transport: rtu, port: ${METER_PORT}, responseTimeout: 500ms }`;
  const registers =
    'registers: { voltage: { table: input, address: 0, type: uint16 }, energy: { table: input, address: 6, type: uint32 }, power: { table: input, address: 60, type: uint16 }, flow: { table: input, address: 90, type: uint16 } }';
  sensor(drawn, 'meter', 10, `kind: modbus, ${connection}, unitId: 1, ${registers}`);
  const limits = `limits: { maxOn: ${MAX_ON_MS / 1_000}s }, safe: { start: off, stop: off }`;
  drawn.actuators.push(
    `  - { name: siren, kind: modbus-write, ${connection}, unitId: 2, table: coil, address: 3, type: bool, ${limits} }`,
  );
  drawn.outputs.push({
    name: 'siren',
    line: `${METER_PORT}:2/coil/3`,
    excludes: [],
    maxOnMs: MAX_ON_MS,
    ...BOTH_OFF,
    use: 'set',
  });
  drawn.parts.push(METER_PORT, `${METER_PORT}:1`, `${METER_PORT}:2`);
}

function position(drawn: Drawn): void {
  sensor(drawn, 'position', 30, `kind: nmea, port: ${GPS_PORT}, useReceiverTime: false`);
  drawn.parts.push(GPS_PORT);
}

/** Runs while nobody says otherwise. */
function pump(drawn: Drawn): void {
  const one = {
    name: 'pump',
    line: 'gpiochip0:25',
    excludes: [],
    safeStart: true,
    safeStop: true,
    hasMinOff: true,
    use: 'free',
  } as const;
  output(drawn, one, ', limits: { minOn: 20s, minOff: 10s }');
}

/** Moved by a rule; a process that ends leaves it as it is. */
function fan(drawn: Drawn, chance: Chance): void {
  output(drawn, { name: 'fan', line: 'gpiochip0:26', excludes: [], safeStop: false, use: 'free' });
  drawn.rules.push(
    `  - { name: cooling, when: { sensor: room0, key: temperature0, above: ${chance.pick(CROSSED_CELSIUS)}, hysteresis: 0.1, for: 10s }, set: { actuator: fan, value: on }, otherwise: off }`,
  );
}

/** Excludes both motors. */
function vent(drawn: Drawn): void {
  const [up, down] = MOTORS;
  output(
    drawn,
    { name: 'vent', line: 'gpiochip0:27', excludes: [up, down], ...BOTH_OFF, use: 'set' },
    `, interlocks: [{ with: ${up}, gap: 1s }, ${down}]`,
  );
}

/** Set by a shared attribute. */
function lamp(drawn: Drawn): void {
  output(drawn, { name: 'lamp', line: 'gpiochip0:28', excludes: [], ...BOTH_OFF, use: 'free' });
}

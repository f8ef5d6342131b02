/** Eight relays on a serial line that do nothing they are told, and a ninth that works: when it is switched off, and what else the line does. */
import { beforeEach, expect, it } from 'vitest';
import { ActuatorBench } from '../../../test/support/actuator-bench.ts';
import { opensWith } from '../../../test/support/actuator-driver.ts';
import { relaySettings } from '../../../test/support/fake-actuator.ts';
import { Modbus } from '../../hardware/modbus.ts';
import { rtuFrame } from '../../hardware/modbus-frames.ts';
import type { ModbusConnection, ModbusLink } from '../../hardware/modbus-port.ts';
import type { SerialPort, SerialPorts } from '../../hardware/serial-port.ts';
import { opener } from './driver.ts';

const never = new AbortController().signal;
const RESPONSE_TIMEOUT_MS = 1_000;
const MUTE = [1, 2, 3, 4, 5, 6, 7, 8];
const HEALTHY = 9;
const WRITE_COIL = 5;
const connection: ModbusConnection = {
  transport: 'rtu',
  port: '/dev/ttyS9',
  baudRate: 9_600,
  responseTimeoutMs: RESPONSE_TIMEOUT_MS,
};

let bench: ActuatorBench;
let link: ModbusLink;
let coils: Map<number, boolean>;
/** Units that do nothing. */
let mute: Set<number>;
/** Answer in their place, and its time; undefined when nobody answers. */
let gateway: { readonly code: number; readonly afterMs: number } | undefined;
let asked: { readonly unit: number; readonly sets: boolean | undefined; readonly atMs: number }[];
let readings: number;
const nowMs = (): number => bench.clock.monotonicMs();

/** Coils, a register that holds 7, and the loop-back. */
function answerOf(unit: number, pdu: Uint8Array): Uint8Array {
  const [code = 0] = pdu;
  if (code === WRITE_COIL) coils.set(unit, pdu[3] === 0xff);
  if (code === 1) return Uint8Array.of(1, 1, coils.get(unit) === true ? 1 : 0);
  return code === 3 ? Uint8Array.of(3, 2, 0, 7) : pdu.slice(0, 5);
}

/** Answer of a unit to a frame, and its delay. */
function hear([unit = 0, ...rest]: Uint8Array): { readonly frame: Uint8Array; readonly afterMs: number } | undefined {
  const pdu = Uint8Array.from(rest.slice(0, -2));
  const [code = 0] = pdu;
  asked.push({ unit, sets: code === WRITE_COIL ? pdu[3] === 0xff : undefined, atMs: nowMs() });
  if (!mute.has(unit)) return { frame: rtuFrame(unit, answerOf(unit, pdu)), afterMs: 15 };
  return gateway && { frame: rtuFrame(unit, Uint8Array.of(code | 0x80, gateway.code)), afterMs: gateway.afterMs };
}

beforeEach(async () => {
  bench = new ActuatorBench();
  [coils, mute, gateway, asked, readings] = [new Map(), new Set(), undefined, [], 0];
  const { clock } = bench;
  let say = (_bytes: Uint8Array): void => {};
  const port: SerialPort = {
    path: '/dev/ttyS9',
    plugged: true,
    onPlug: () => () => {},
    close: async () => {},
    write: async (frame) => {
      const answer = hear(frame);
      if (answer !== undefined) clock.after(answer.afterMs, () => say(answer.frame));
    },
    onBytes: (listener) => {
      say = listener;
      return () => {};
    },
  };
  const modbus = new Modbus({ clock, serial: { open: async () => port } as Partial<SerialPorts> as SerialPorts });
  link = await modbus.open(connection, never);
  for (const unitId of [...MUTE, HEALTHY]) {
    const coil = {
      kind: 'modbus-write',
      name: `relay ${unitId}`,
      connection,
      unitId,
      table: 'coil',
      address: 0,
      readBack: true,
    };
    // Fields that say nothing to a coil, or to the driver, are left out.
    bench.drivers[coil.name] = await opensWith(opener)(coil as Parameters<typeof opener>[0], { modbus });
  }
  const opening = bench.open(
    ...[...MUTE, HEALTHY].map((unit) => relaySettings(`relay ${unit}`, { deadlineMs: 5_000 })),
  );
  await clock.advance(2_000);
  await opening;
  for (const unit of [...MUTE, HEALTHY]) void bench.set(`relay ${unit}`, true);
  await clock.advance(2_000);
  expect([...coils.values()]).toEqual(Array(9).fill(true));
});

/** A sensor, once a second unless the reading before still waits. */
async function read(unit: number): Promise<never> {
  for (;;) {
    const next = bench.clock.sleep(1_000, never);
    const isRead = await link.readRegisters(unit, { table: 'holding', address: 0, count: 1 }, never).then(
      () => true,
      () => false,
    );
    if (isRead) readings += 1;
    await next;
  }
}

/** They are told "off" half a minute long. */
async function areMute(): Promise<void> {
  mute = new Set(MUTE);
  for (const unit of MUTE) void bench.set(`relay ${unit}`, false);
  await bench.clock.advance(30_000);
  void read(HEALTHY);
}

/** After how long the healthy one was told. */
async function tellsHealthy(on: boolean): Promise<number> {
  const sinceMs = nowMs();
  const moving = bench.set(`relay ${HEALTHY}`, on);
  await bench.clock.advance(8_000);
  expect([await moving, coils.get(HEALTHY)]).toEqual(['moved', on]);
  return (
    (asked.find(({ unit, sets, atMs }) => unit === HEALTHY && sets === on && atMs >= sinceMs)?.atMs ?? Infinity) -
    sinceMs
  );
}

const KINDS = [
  { name: 'that say nothing', others: undefined },
  { name: 'of which a gateway says after a while that they say nothing', others: { code: 0x0b, afterMs: 900 } },
];

it.each(KINDS)(
  'beside relays $name, one that works is told "off" after one exchange at most, and "on" after two',
  async ({ others }) => {
    gateway = others;
    await areMute();
    for (let n = 0; n < 12; n += 1) {
      expect(await tellsHealthy(false)).toBeLessThanOrEqual(RESPONSE_TIMEOUT_MS);
      expect(await tellsHealthy(true)).toBeLessThanOrEqual(2 * RESPONSE_TIMEOUT_MS);
      await bench.clock.advance(n * 137);
    }
  },
);

it.each(KINDS)(
  'beside relays $name, a sensor is read, and each that works again is switched off',
  async ({ others }) => {
    gateway = others;
    await areMute();
    await bench.clock.advance(60_000);
    expect(readings).toBeGreaterThanOrEqual(30);
    mute.clear();
    await bench.clock.advance(6_000);
    expect(MUTE.map((unit) => coils.get(unit))).toEqual(MUTE.map(() => false));
  },
);

it('one that works is told "off" first again once it has answered anything, whatever it refused before', async () => {
  await areMute();
  mute.add(HEALTHY);
  const refused = bench.set(`relay ${HEALTHY}`, false);
  await bench.clock.advance(6_000);
  expect(await refused).not.toBe('moved');
  mute.delete(HEALTHY);
  await bench.clock.advance(10_000);
  await tellsHealthy(true);
  expect(await tellsHealthy(false)).toBeLessThanOrEqual(RESPONSE_TIMEOUT_MS);
});

it('one that works is told "off" first although its last reading was lost', async () => {
  await areMute();
  mute.add(HEALTHY);
  const sinceMs = nowMs();
  const isLost = (): boolean => asked.some(({ unit, atMs }) => unit === HEALTHY && atMs > sinceMs);
  while (!isLost()) await bench.clock.advance(10);
  await bench.clock.advance(RESPONSE_TIMEOUT_MS);
  mute.delete(HEALTHY);
  // It has a loop-back to answer before.
  expect(await tellsHealthy(false)).toBeLessThanOrEqual(RESPONSE_TIMEOUT_MS + 100);
});

it('one that refuses is told "off" every few seconds, however many sensors it has', async () => {
  gateway = { code: 0x0b, afterMs: 900 };
  mute = new Set([1]);
  for (let n = 0; n < 12; n += 1) void read(1);
  void bench.set('relay 1', false);
  const sinceMs = nowMs();
  await bench.clock.advance(60_000);
  const times = asked.filter(({ unit, sets }) => unit === 1 && sets === false).map(({ atMs }) => atMs);
  const waits = [...times, nowMs()].map((atMs, n) => atMs - (times[n - 1] ?? sinceMs));
  expect(Math.max(...waits)).toBeLessThanOrEqual(5_000);
});

/**
 * Outputs behind Modbus as people have them: inverters that forget a set point, heat pumps that people change at their panel, batteries that take a
 * mode and a power, relay boards with bells and gates. Each over a real pty or socket, the agent's own time by a clock that the test moves.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Actuators } from '../../src/actuators/actuators.ts';
import { modbusConnection } from '../../src/config/fields/addresses.ts';
import { type AgentConfig, configSchema } from '../../src/config/schema/agent-config.ts';
import { RTU, tcpFrame } from '../../src/hardware/modbus-frames.ts';
import type { ModbusConnection } from '../../src/hardware/modbus-port.ts';
import { silentLog } from '../../src/host/log.ts';
import { runProgram } from '../../src/host/run-program.ts';
import { watchOutputs } from '../../src/timeline/watch-outputs.ts';
import { configOf as configOfText } from '../support/config-file.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { MemoryFiles } from '../support/memory-files.ts';
import { openPeerBench, type PeerBench } from '../support/modbus-peer.ts';

const never = new AbortController().signal;
const EVERY_MS = 30_000;
const STEP_MS = 2_000;

/** A unit with registers and coils, behind a socket or a line. */
class Unit {
  readonly registers = new Map<number, number>();
  readonly coils = new Map<number, boolean>();
  /** Function, first address and words of each write. */
  readonly writes: (readonly number[])[] = [];
  /** Addresses that it refuses to write. */
  readonly refuses = new Set<number>();
  isSilent = false;

  /** Answer to a request; undefined for none. */
  answer(pdu: Buffer): Buffer | undefined {
    if (this.isSilent) return undefined;
    const [code = 0] = pdu;
    const [address, second] = [pdu.readUInt16BE(1), pdu.readUInt16BE(3)];
    if (code === 8) return pdu;
    if (code === 1) return Buffer.from([1, 1, this.coils.get(address) === true ? 1 : 0]);
    if (code === 3) {
      const words = Buffer.alloc(2 * second);
      for (let at = 0; at < second; at += 1) words.writeUInt16BE(this.registers.get(address + at) ?? 0, 2 * at);
      return Buffer.concat([Buffer.from([3, words.length]), words]);
    }
    if (this.refuses.has(address)) return Buffer.from([code | 0x80, 2]);
    const words = code === 16 ? Array.from({ length: second }, (_, at) => pdu.readUInt16BE(6 + 2 * at)) : [second];
    this.writes.push([code, address, ...words]);
    if (code === 5) this.coils.set(address, second === 0xff00);
    else for (const [at, word] of words.entries()) this.registers.set(address + at, word);
    return pdu.subarray(0, 5);
  }
}

let bench: PeerBench;
let unit: Unit;
let clock: FakeClock;
let files: MemoryFiles;
let readings: [key: string, value: unknown][];
let told: string[];
let side: Actuators | undefined;
let line: ModbusConnection;

async function connectionOf(transport: 'tcp' | 'rtu'): Promise<object> {
  const responseTimeout = '200ms';
  if (transport === 'tcp') {
    const port = await bench.tcp((asked, send) => {
      const answer = unit.answer(asked.subarray(7));
      if (answer !== undefined) send(tcpFrame(asked.readUInt16BE(0), 1, answer));
    });
    return { transport, host: '127.0.0.1', port, responseTimeout };
  }
  const port = await bench.pty((asked, send) => {
    const answer = unit.answer(asked.subarray(1, -2));
    if (answer !== undefined) send(RTU.frame(1, answer));
  });
  return { transport, port, baudRate: 19_200, responseTimeout };
}

async function configOf(transport: 'tcp' | 'rtu', output: object, more: object = {}): Promise<AgentConfig> {
  const connection = await connectionOf(transport);
  line = modbusConnection.parse(connection);
  return configSchema.parse({
    version: 1,
    platform: { url: 'http://platform', accessToken: 'secret-token' },
    stateFolder: '/state',
    runFolder: '/run',
    actuators: [{ name: 'out', kind: 'modbus-write', connection, ...output }],
    ...more,
  });
}

/** Opens the agent's outputs; what they do takes real time, and none of the clock's. */
async function start(config: AgentConfig): Promise<Actuators> {
  const opening = Actuators.open(
    {
      config,
      ports: bench.ports,
      clock,
      files,
      runProgram,
      log: silentLog,
      alerts: { raise: () => {}, clear: () => {} },
      onRuleEvent: () => {},
      report: (entries) => void readings.push(...entries.map(({ key, value }): [string, unknown] => [key, value])),
      localTime: () => undefined,
    },
    never,
  );
  side = await opening;
  watchOutputs(
    side.control,
    ({ words }) => void told.push(words),
    () => config,
  );
  return side;
}

async function open(transport: 'tcp' | 'rtu', output: object, more: object = {}): Promise<Actuators> {
  return await start(await configOf(transport, output, more));
}

const set = (value: unknown, forMs?: number) => side?.control.set('out', value, { by: 'rpc', forMs }, never);
const state = () => side?.control.state('out');
const why = (): string => side?.control.find('out')?.reason.why ?? '';

/** Lets the clock run in steps that are shorter than a movement may take, and what is on the wire come to its end after each. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= STEP_MS) {
    await clock.advance(Math.min(left, STEP_MS));
    await settled();
  }
}

/** A question of the same line comes after all that was asked before. */
async function settled(): Promise<void> {
  const link = await bench.ports.modbus.open(line, never);
  await link.readRegisters(1, { table: 'holding', address: 0, count: 1 }, never).catch(() => {});
  await link.close();
  await new Promise((resolve) => setImmediate(resolve));
}

beforeEach(async () => {
  bench = await openPeerBench();
  [unit, clock, files, readings, told, side] = [new Unit(), new FakeClock(), new MemoryFiles(), [], [], undefined];
});
afterEach(async () => {
  await bench.close();
});

describe.each([
  {
    maker: 'SMA, active power as 32 bits, forgotten after a while',
    transport: 'tcp',
    output: { address: 40_149, type: 'int32' },
    value: 3_000,
    write: [16, 40_149, 0, 3_000],
    safe: [16, 40_149, 0, 0],
  },
  {
    maker: 'Growatt, active power in percent',
    transport: 'rtu',
    output: { address: 3, limits: { min: 0, max: 100 } },
    value: 60,
    write: [6, 3, 60],
    safe: [6, 3, 0],
  },
] as const)('repeatEvery: $maker', ({ transport, output, value, write, safe }) => {
  const repeated = { ...output, repeatEvery: '30s' };

  it('has its set point again every so often, without a point and without a switch', async () => {
    await open(transport, repeated);
    await set(value);
    await pass(EVERY_MS);
    await pass(EVERY_MS);
    expect(unit.writes).toEqual([write, write, write]);
    expect(readings.filter(([key]) => key === 'outState').map(([, each]) => each)).toEqual([0, value]);
  });

  it('is written no more once the time of the command is over', async () => {
    await open(transport, repeated);
    await set(value, EVERY_MS + 1_000);
    await pass(EVERY_MS);
    await pass(2_000);
    await pass(10 * EVERY_MS);
    expect(unit.writes).toEqual([write, write]);
  });

  it('has its safe state last when the agent stops', async () => {
    const agent = await open(transport, { ...repeated, safe: { stop: 0 } });
    await set(value);
    // The repetition is on its way when the stop comes.
    await clock.advance(EVERY_MS);
    const closing = agent.close();
    await vi.waitFor(() => expect(unit.writes.at(-1)).toEqual(safe), { timeout: 10_000 });
    await clock.advance(10_000);
    await closing;
    await clock.advance(10 * EVERY_MS);
    expect(unit.writes.at(-1)).toEqual(safe);
  });
});

describe.each([
  {
    maker: 'Stiebel Eltron, operating mode of a heat pump',
    transport: 'tcp',
    output: { address: 1_500, map: { 0: 'emergency', 1: 'standby', 2: 'program', 3: 'comfort', 4: 'eco', 5: 'water' } },
    wanted: ['comfort', 3],
    other: ['eco', 4],
  },
  {
    maker: 'Systemair, mode of a ventilation unit',
    transport: 'rtu',
    output: { address: 1_161, map: { 1: 'off', 2: 'manual', 3: 'crowded', 4: 'refresh', 5: 'fireplace', 6: 'away' } },
    wanted: ['away', 6],
    other: ['off', 1],
  },
] as const)('map and readBack: $maker', ({ transport, output, wanted, other }) => {
  const [name, number] = wanted;
  const [otherName, otherNumber] = other;

  it('takes names, and refuses others and numbers', async () => {
    await open(transport, output);
    expect(await set(name)).toMatchObject({ value: name });
    expect(unit.writes).toEqual([[6, output.address, number]]);
    await expect(set('turbo')).rejects.toMatchObject({ code: 'actuators/wrong-type', message: /takes one of/ });
    await expect(set(number)).rejects.toMatchObject({ code: 'actuators/wrong-type' });
    expect(unit.writes).toHaveLength(1);
  });

  it('has no hours and no starts, and a mode without a name is its number', async () => {
    await open(transport, output);
    await set(name);
    unit.registers.set(output.address, 99);
    await side?.control.read('out', never);
    await clock.advance(3_600_000);
    expect(state()?.value).toBe('99');
    expect(readings.map(([key]) => key).filter((key) => key !== 'outState')).toEqual([]);
  });

  it('tells what was changed at the device, and leaves it so', async () => {
    await open(transport, { ...output, readBack: '30s' });
    await set(name);
    unit.registers.set(output.address, otherNumber);
    await pass(EVERY_MS);
    await vi.waitFor(() => expect(state()?.value).toBe(otherName));
    expect(state()).toMatchObject({ desired: name, fault: undefined });
    expect(why()).toContain(`changed at the device: ${otherName}`);
    expect(told.at(-1)).toMatch(/changed at the device/);
    expect(readings.at(-1)).toEqual(['outState', otherName]);
    await pass(10 * EVERY_MS);
    expect(unit.writes).toHaveLength(1);
  });

  it('is written over what was changed, where it is repeated as well', async () => {
    await open(transport, { ...output, readBack: '10s', repeatEvery: '30s' });
    await set(name);
    unit.registers.set(output.address, otherNumber);
    await pass(10_000);
    await vi.waitFor(() => expect(state()?.value).toBe(otherName));
    await pass(20_000);
    await vi.waitFor(() => expect(state()?.value).toBe(name));
    expect(unit.registers.get(output.address)).toBe(number);
    await vi.waitFor(() => expect(told.at(-1)).toMatch(/as it was set/));
  });

  it('is unknown while the unit is silent', async () => {
    await open(transport, { ...output, readBack: '30s' });
    await set(name);
    unit.isSilent = true;
    await pass(EVERY_MS);
    await vi.waitFor(() => expect(state()).toMatchObject({ value: undefined, fault: expect.any(String) }));
    unit.isSilent = false;
    await pass(EVERY_MS);
    await vi.waitFor(() => expect(state()).toMatchObject({ value: name, fault: undefined }));
    expect(unit.writes).toHaveLength(1);
  });
});

it('map: a name that reads as a switch is taken from a configuration and from a command', async () => {
  await open('rtu', { address: 1_161, map: { 1: 'off', 2: 'manual' }, safe: { start: 'off' } });
  await vi.waitFor(() => expect(unit.writes).toEqual([[6, 1_161, 1]]));
  await set('manual');
  expect(await set(false)).toMatchObject({ value: 'off' });
  expect(unit.writes.at(-1)).toEqual([6, 1_161, 1]);
});

describe.each([
  {
    maker: 'Solis, force charge before its power in steps of 10 W',
    transport: 'rtu',
    registers: [
      { address: 43_135, value: 1 },
      { address: 43_136, scale: 10 },
    ],
    inOneWrite: false,
    value: 2_500,
    writes: [
      [6, 43_135, 1],
      [6, 43_136, 250],
    ],
  },
  {
    maker: 'Sungrow, forced mode, charge and power in a row',
    transport: 'tcp',
    registers: [{ address: 13_049, value: 2 }, { address: 13_050, value: 0xaa }, { address: 13_051 }],
    inOneWrite: true,
    value: 2_500,
    writes: [[16, 13_049, 2, 0xaa, 2_500]],
  },
] as const)('registers: $maker', ({ transport, registers, inOneWrite, value, writes }) => {
  it('are written in their order by one command, and the value is read back', async () => {
    await open(transport, { registers, inOneWrite });
    expect(await set(value)).toMatchObject({ value });
    expect(unit.writes).toEqual(writes);
    unit.registers.set(registers.at(-1)?.address ?? 0, 100);
    expect(await side?.control.read('out', never)).toMatchObject({
      value: 'scale' in (registers.at(-1) ?? {}) ? 1_000 : 100,
    });
  });
});

describe.each([
  ['Solis', 'rtu', 43_135, 43_136],
  ['Growatt', 'tcp', 1_044, 1_070],
] as const)('registers, half done: %s', (_maker, transport, mode, power) => {
  it('are a fault that says which was written', async () => {
    await open(transport, { registers: [{ address: mode, value: 1 }, { address: power }] });
    unit.refuses.add(power);
    await expect(set(50)).rejects.toMatchObject({
      code: 'actuators/half-written',
      message: expect.stringContaining(`register ${mode} was written and register ${power} was not`),
    });
    expect(unit.writes).toEqual([[6, mode, 1]]);
    expect(state()).toMatchObject({ value: 0, fault: expect.stringContaining(`register ${mode} was written`) });
  });
});

describe.each([
  ['a relay board of Waveshare', 'rtu', 3],
  ['a coupler of WAGO', 'tcp', 512],
] as const)('pulse: %s', (_maker, transport, address) => {
  const bell = { table: 'coil', type: 'bool', address, maxPulse: '2s' };

  it('is on for its time, by a method of the configuration as well', async () => {
    const methods = { ring: { actuator: 'out', pulse: '1s' } };
    const text = (pulse: string): string =>
      JSON.stringify({
        version: 1,
        platform: { url: 'http://platform', accessToken: 'secret-token' },
        actuators: [{ name: 'out', kind: 'modbus-write', connection: { transport: 'tcp', host: 'plc' }, ...bell }],
        rpc: { methods: { ring: { actuator: 'out', pulse } } },
      });
    expect((await configOfText(text('1s'))).rpc.methods).toMatchObject({ ring: { pulseMs: 1_000 } });
    await expect(configOfText(text('3s'))).rejects.toThrow(/rpc\.methods\.ring\.pulse/);
    await open(transport, bell, { rpc: { methods } });
    const pulsing = side?.control.pulse('out', { durationMs: 1_000, by: 'rpc' }, never);
    await vi.waitFor(() => expect(state()).toMatchObject({ value: true, pulsing: true }));
    await clock.advance(1_000);
    await pulsing;
    await vi.waitFor(() => expect(state()).toMatchObject({ value: false, pulsing: false }));
    expect(unit.writes).toEqual([
      [5, address, 0xff00],
      [5, address, 0],
    ]);
    await expect(side?.control.pulse('out', { durationMs: 3_000, by: 'rpc' }, never)).rejects.toMatchObject({
      code: 'actuators/out-of-range',
    });
  });
});

/** A device on a serial line that answers late, and what its answers are taken for. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ActuatorBench } from '../../../test/support/actuator-bench.ts';
import { relaySettings } from '../../../test/support/fake-actuator.ts';
import type { ActuatorConfigOf } from '../../config/schema/agent-config.ts';
import { AgentError } from '../../errors/agent-error.ts';
import type { Ports } from '../../hardware/ports.ts';
import { SerialBuses } from '../../hardware/serial-buses.ts';
import type { SerialPort } from '../../hardware/serial-port.ts';
import { runProgram } from '../../host/run-program.ts';
import { loadLinearPatterns } from '../../values/linear-pattern.ts';
import { loadActuatorDrivers, reopeningDriver } from '../open-driver.ts';

const config: ActuatorConfigOf<'serial-write'> = {
  name: 'heater',
  kind: 'serial-write',
  enabled: true,
  desiredKey: 'heater',
  stateKey: 'heaterState',
  telemetry: true,
  restore: false,
  safe: {},
  limits: {},
  interlocks: [],
  operatorUntil: 'ruleChange',
  port: '/dev/ttyUSB0',
  baudRate: 9_600,
  dataBits: 8,
  parity: 'none',
  stopBits: 1,
  valueType: 'boolean',
  template: 'SET {value}\r\n',
  expect: 'OK',
  replyTimeoutMs: 1_000,
};
const SETTINGS = relaySettings('heater', { deadlineMs: 6_000, idempotent: false });

let bench: ActuatorBench;
/** State of the heater. */
let isOn: boolean;
let told: string[];
let opened: number;
let isPlugged: boolean;
/** When it answers what to which word, and whether it does it. */
let device: (word: string) => { readonly afterMs: number; readonly says: 'OK' | 'ERR' } | undefined;

beforeEach(async () => {
  bench = new ActuatorBench();
  [isOn, told, opened, isPlugged] = [false, [], 0, true];
  const { clock } = bench;
  const listeners = new Set<(bytes: Uint8Array) => void>();
  const port: SerialPort = {
    path: '/dev/ttyUSB0',
    plugged: true,
    onPlug: () => () => {},
    close: async () => {},
    onBytes: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    write: async (bytes) => {
      if (!isPlugged) throw new AgentError('hardware/serial-unplugged', 'unplugged', { recovery: 'retry' });
      const word = Buffer.from(bytes).toString().trim();
      told.push(word);
      const answer = device(word);
      if (answer === undefined) return;
      clock.after(answer.afterMs, () => {
        if (answer.says === 'OK') isOn = word === 'SET 1';
        for (const listener of listeners) listener(Buffer.from(`${answer.says}\r\n`));
      });
    },
  };
  const open = async (): Promise<SerialPort> => {
    opened += 1;
    return port;
  };
  await loadActuatorDrivers({ actuators: [config] }); // as a start does, before anything has a deadline
  await loadLinearPatterns();
  bench.drivers.heater = reopeningDriver(config, {
    ports: {
      serialBuses: new SerialBuses({ open, list: async () => [], close: async () => {} }, clock),
    } as Partial<Ports> as Ports,
    clock,
    runProgram,
  });
  await bench.open(SETTINGS);
});

/** Outcome within three seconds. */
async function set(value: boolean): Promise<unknown> {
  const setting = bench.set('heater', value);
  await bench.clock.advance(3_000);
  return await setting;
}

const shown = (): unknown => bench.control.state('heater').value;
const alarms = (): unknown => bench.alarms.at(-1)?.[1];

describe('an answer that comes after its time', () => {
  it('is not taken for that of "off", which is told again until the device says so itself', async () => {
    let isBusy = true;
    device = (word) => ({
      ...(word === 'SET 1' ? { afterMs: 1_300 } : { afterMs: 100 }),
      says: word === 'SET 0' && isBusy ? 'ERR' : 'OK',
    });
    const on = bench.set('heater', true);
    await bench.clock.advance(1_050);
    expect(await on).toBe('actuators/no-answer');
    expect(await set(false)).toBe('actuators/no-answer');
    await bench.clock.advance(10_000);
    expect([isOn, shown(), alarms()]).toEqual([true, undefined, expect.stringContaining('does not switch off')]);
    isBusy = false;
    await bench.clock.advance(5_000);
    expect([isOn, shown(), alarms()]).toEqual([false, false, undefined]);
  });

  it('is not forgotten when the port is opened anew', async () => {
    let late = 0;
    // Three commands to switch on, each of which is answered long after; "off" is refused.
    device = (word) =>
      word === 'SET 1' ? { afterMs: 20_000 + 1_500 * late++, says: 'OK' } : { afterMs: 10, says: 'ERR' };
    for (let tries = 0; tries < 3; tries += 1) expect(await set(true)).toBe('actuators/no-answer');
    await set(false);
    expect(opened).toBeGreaterThan(1);
    await bench.clock.advance(50_000);
    expect([isOn, shown(), alarms()]).toEqual([true, undefined, expect.stringContaining('does not switch off')]);
  });

  it('holds no "off" back, and costs one more of them where somebody switched off in the midst of "on"', async () => {
    device = () => ({ afterMs: 200, says: 'OK' });
    const on = bench.set('heater', true);
    await bench.clock.advance(100);
    const off = bench.set('heater', false);
    await bench.clock.advance(0);
    expect(told).toEqual(['SET 1', 'SET 0']);
    await bench.clock.advance(1_000);
    expect([await on, await off]).toEqual(['actuators/overridden', 'actuators/no-answer']);
    expect([told, isOn, shown(), alarms()]).toEqual([['SET 1', 'SET 0', 'SET 0'], false, false, undefined]);
  });

  it('is none of what was never told, as the adapter was unplugged', async () => {
    device = () => ({ afterMs: 100, says: 'OK' });
    isPlugged = false;
    for (let tries = 0; tries < 2; tries += 1) expect(await set(true)).toBe('hardware/serial-unplugged');
    isPlugged = true;
    expect(await set(false)).toBe('moved');
    expect(told).toEqual(['SET 0']);
  });

  it('of "off" proves "off", and what was never answered is forgotten with it', async () => {
    device = () => undefined;
    expect(await set(false)).toBe('actuators/no-answer');
    await bench.clock.advance(30_000);
    device = () => ({ afterMs: 100, says: 'OK' });
    await bench.clock.advance(3_000);
    expect([shown(), alarms()]).toEqual([false, undefined]);
    expect(await set(true)).toBe('moved');
  });
});

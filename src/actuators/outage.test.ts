/** Outputs whose line or unit was away: they may hold what they start with. What is in force is written once more, or told as unproven. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ActuatorBench } from '../../test/support/actuator-bench.ts';
import { COMMON } from '../../test/support/actuator-driver.ts';
import { relaySettings } from '../../test/support/fake-actuator.ts';
import { Modbus } from '../hardware/modbus.ts';
import { rtuFrame } from '../hardware/modbus-frames.ts';
import type { ModbusConnection } from '../hardware/modbus-port.ts';
import type { Ports } from '../hardware/ports.ts';
import { SerialBuses } from '../hardware/serial-buses.ts';
import { type SerialPort, type SerialPorts, unplugged } from '../hardware/serial-port.ts';
import { runProgram } from '../host/run-program.ts';
import type { ActuatorLimits } from './kind/actuator.ts';
import { loadActuatorDrivers, reopeningDriver } from './open-driver.ts';

const never = new AbortController().signal;
const WRITE_COIL = 5;
const RULES: ActuatorBench['rules'] = new Map([['lamp', [{ name: 'dusk', protect: false, set: true, version: '1' }]]]);

let bench: ActuatorBench;
const state = () => bench.control.state('lamp');
const why = () => bench.control.find('lamp')?.reason.why;
const dusk = async (): Promise<void> => {
  void bench.control.find('lamp')?.take({ kind: 'read', rule: 'dusk', holds: true });
  await bench.clock.advance(1_000);
};
const command = async (value: boolean, forMs?: number): Promise<void> => {
  const setting = bench.control.set('lamp', value, { by: 'rpc', forMs }, never);
  await bench.clock.advance(1_000);
  await setting;
};

beforeEach(() => {
  bench = new ActuatorBench();
});

describe('a relay board', () => {
  let told: string[];
  let isPlugged: boolean;
  let watchers: Set<(plugged: boolean, reason: string) => void>;

  async function open(path: string, limits: ActuatorLimits): Promise<void> {
    [told, isPlugged, watchers] = [[], true, new Set()];
    const port: SerialPort = {
      path,
      get plugged() {
        return isPlugged;
      },
      onBytes: () => () => {},
      onPlug: (watcher) => {
        watchers.add(watcher);
        return () => watchers.delete(watcher);
      },
      write: async (bytes) => {
        if (!isPlugged) throw unplugged(path);
        told.push(Buffer.from(bytes).toString());
      },
      close: async () => {},
    };
    const config = {
      ...COMMON,
      name: 'lamp',
      kind: 'serial-write',
      port: path,
      baudRate: 9_600,
      dataBits: 8,
      parity: 'none',
      stopBits: 1,
      valueType: 'boolean',
      template: '{value}',
      replyTimeoutMs: 1_000,
    } as const;
    await loadActuatorDrivers({ actuators: [config] });
    const serialBuses = new SerialBuses(
      { open: async () => port, list: async () => [], close: async () => {} },
      bench.clock,
    );
    bench.drivers.lamp = reopeningDriver(config, {
      ports: { serialBuses } as Partial<Ports> as Ports,
      clock: bench.clock,
      runProgram,
    });
    bench.rules = RULES;
    await bench.open(relaySettings('lamp', { idempotent: false, writtenOnce: true, limits }));
  }

  async function away(ms: number, reason = 'the server hung up'): Promise<void> {
    isPlugged = false;
    for (const watcher of watchers) watcher(false, reason);
    await bench.clock.advance(ms);
    isPlugged = true;
    for (const watcher of watchers) watcher(true, 'back');
    await bench.clock.advance(1_000);
  }

  describe('behind a device server', () => {
    beforeEach(() => open('tcp://server:4001', { maxPulseMs: 60_000 }));

    it('is told once more by a rule that holds, and by a command with time left', async () => {
      await dusk();
      await away(20_000);
      expect([told, state().value]).toEqual([['1', '1'], true]);
      await command(false, 3_600_000);
      await away(20_000);
      expect([told, state()]).toMatchObject([['1', '1', '0', '0'], { value: false, fault: undefined }]);
    });

    it('is not told again by a command without a time, and nobody knows what it is', async () => {
      await command(true);
      await away(20_000);
      expect([told, state()]).toMatchObject([['1'], { value: undefined, fault: expect.stringContaining('was away') }]);
      expect(why()).toContain('nothing proves that it still is');
      await command(true);
      expect([told, state()]).toMatchObject([['1', '1'], { value: true, fault: undefined }]);
      expect(why()).not.toContain('nothing proves');
    });

    it('is told off again, whoever said it', async () => {
      await command(false);
      await away(20_000);
      expect([told, state().value]).toEqual([['0', '0'], false]);
    });

    it('ends its pulse', async () => {
      expect(await bench.pulse('lamp', 50_000)).toBe('moved');
      await away(20_000);
      expect([told, state().value]).toEqual([['1', '0'], false]);
    });

    it('has lost nothing where the server closes a connection that nobody uses', async () => {
      await dusk();
      await away(250);
      expect([told, state().value]).toEqual([['1'], true]);
      await away(250, 'read ECONNRESET');
      expect(told).toEqual(['1', '1']);
    });
  });

  it('that was unplugged rests for its least time before it is on again', async () => {
    await open('/dev/ttyUSB0', { minOffMs: 60_000 });
    await dusk();
    await bench.clock.advance(120_000);
    await away(2_000);
    expect(told).toEqual(['1']);
    await bench.clock.advance(60_000);
    expect([told, state().value]).toEqual([['1', '1'], true]);
  });
});

describe('a Modbus unit on a line', () => {
  let isOn: boolean;
  let isThere: boolean;
  let writes: number;
  let poll: () => Promise<unknown>;

  async function open(changes: Parameters<typeof relaySettings>[1] = {}, readBack = true): Promise<void> {
    [isOn, isThere, writes] = [false, true, 0];
    const { clock } = bench;
    let say = (_bytes: Uint8Array): void => {};
    const port: SerialPort = {
      path: '/dev/ttyS9',
      plugged: true,
      onPlug: () => () => {},
      close: async () => {},
      write: async ([unit = 0, code = 0, ...rest]) => {
        if (!isThere) return;
        if (code === WRITE_COIL) [isOn, writes] = [rest[2] === 0xff, writes + 1];
        const pdu = code === 1 ? [1, 1, isOn ? 1 : 0] : code === 3 ? [3, 2, 0, 7] : [code, ...rest.slice(0, 4)];
        clock.after(15, () => say(rtuFrame(unit, Uint8Array.from(pdu))));
      },
      onBytes: (listener) => {
        say = listener;
        return () => {};
      },
    };
    const connection: ModbusConnection = {
      transport: 'rtu',
      port: '/dev/ttyS9',
      baudRate: 9_600,
      responseTimeoutMs: 1_000,
    };
    const modbus = new Modbus({ clock, serial: { open: async () => port } as Partial<SerialPorts> as SerialPorts });
    const link = await modbus.open(connection, never);
    poll = () => link.readRegisters(1, { table: 'holding', address: 0, count: 1 }, never).catch(() => {});
    const config = { ...COMMON, kind: 'modbus-write', name: 'lamp', connection, unitId: 1, table: 'coil', readBack };
    // Fields that say nothing to a coil, or to the driver, are left out.
    const lamp = config as unknown as Parameters<typeof reopeningDriver>[0];
    await loadActuatorDrivers({ actuators: [lamp] });
    bench.drivers.lamp = reopeningDriver(lamp, { ports: { modbus } as Partial<Ports> as Ports, clock, runProgram });
    bench.rules = RULES;
    const opening = bench.open(relaySettings('lamp', { deadlineMs: 5_000, ...changes }));
    await clock.advance(1_000);
    await opening;
  }

  /** The unit has no power, while a sensor asks it every ten seconds, and starts with what it is given. */
  async function restarts(holds: boolean, polls = 3): Promise<void> {
    isThere = false;
    for (let n = 0; n < polls; n += 1) {
      void poll();
      await bench.clock.advance(10_000);
    }
    [isThere, isOn] = [true, holds];
    void poll();
    await bench.clock.advance(2_000);
  }

  it.each([true, false])('is written once more by a rule (read back: %s)', async (readBack) => {
    await open({}, readBack);
    await dusk();
    await restarts(false);
    expect([isOn, writes, state()]).toMatchObject([true, 2, { value: true, fault: undefined }]);
  });

  it.each([true, false])('rests for its least time before it is on again (read back: %s)', async (readBack) => {
    await open({ limits: { minOffMs: 60_000 } }, readBack);
    await dusk();
    await bench.clock.advance(120_000);
    await restarts(false);
    expect([isOn, writes]).toEqual([false, 1]);
    await bench.clock.advance(61_000);
    expect([isOn, writes, state()]).toMatchObject([true, 2, { value: true, fault: undefined }]);
  });

  it('is not written where it holds what it should', async () => {
    await open();
    await dusk();
    await restarts(true);
    expect([writes, state().value]).toEqual([1, true]);
  });

  it('is not written again by a command without a time: it shows what it holds', async () => {
    await open();
    await command(true);
    await restarts(false);
    expect([writes, state()]).toMatchObject([1, { value: false, fault: expect.stringContaining('after it was away') }]);
  });

  it('is unproven where it is not read back', async () => {
    await open({}, false);
    await command(true);
    await restarts(false);
    expect([writes, state().value, why()]).toEqual([1, undefined, expect.stringContaining('nothing proves')]);
  });

  it('keeps what somebody has switched at the device, where it is read every so often', async () => {
    await open({ readEveryMs: 30_000 });
    await dusk();
    await restarts(false);
    await bench.clock.advance(60_000);
    expect([writes, state()]).toMatchObject([1, { value: false, isChangedAtDevice: true }]);
  });

  it('has lost nothing by one answer that is missing', async () => {
    await open({}, false);
    await dusk();
    await restarts(true, 1);
    expect([writes, state().value]).toEqual([1, true]);
  });
});

/** From the configuration's words to what every actuator is, and which driver its kind gets. */

import { describe, expect, it } from 'vitest';
import { checkValue } from '../../../src/actuators/actuator-limits.ts';
import { actuatorSettings } from '../../../src/actuators/actuator-settings.ts';
import { openDriver, reopeningDriver } from '../../../src/actuators/open-driver.ts';
import { actuatorSchema } from '../../../src/config/schema/actuators.ts';
import type { ActuatorConfig } from '../../../src/config/schema/agent-config.ts';
import type { Ports } from '../../../src/hardware/ports.ts';
import { runProgram } from '../../../src/host/run-program.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;
const parse = (written: object): ActuatorConfig => actuatorSchema.parse({ name: 'one', ...written });
const tcp = { transport: 'tcp', host: 'plc.local', port: 502 };

const GPIO = parse({ kind: 'gpio-output', line: 'GPIO17' });
const PWM = parse({ kind: 'pwm', chip: 0, channel: 1, frequency: '25kHz' });
const SERIAL = parse({
  kind: 'serial-write',
  port: '/dev/ttyS0',
  baudRate: 9600,
  template: '{value}',
  valueType: 'string',
  replyTimeout: '300ms',
});
const COMMAND = parse({
  kind: 'command',
  program: '/bin/true',
  arguments: ['{value}'],
  valueType: 'number',
  timeout: '2s',
});
const COIL = parse({ kind: 'modbus-write', connection: tcp, table: 'coil', address: 3 });
const REGISTER = parse({ kind: 'modbus-write', connection: tcp, table: 'holding', address: 3, type: 'int16' });
const BIT = parse({ kind: 'modbus-write', connection: tcp, table: 'holding', address: 3, type: 'bool' });

describe('the settings of an actuator', () => {
  it('have the type of value that its kind takes', () => {
    expect(
      [GPIO, PWM, SERIAL, COMMAND, COIL, REGISTER, BIT].map((config) => actuatorSettings(config).valueType),
    ).toEqual([...['boolean', 'number', 'string', 'number', 'boolean', 'number', 'boolean']]);
  });

  it('say what setting the same twice does', () => {
    expect([GPIO, PWM, SERIAL, COMMAND, COIL].map((config) => actuatorSettings(config).idempotent)).toEqual([
      true,
      true,
      false,
      false,
      true,
    ]);
  });

  it('have a version that changes with what reaches the device, and with nothing else', () => {
    const written = { kind: 'modbus-write', connection: tcp, address: 3, readBack: '30s' };
    const versionWith = (more: object): string | undefined => actuatorSettings(parse({ ...written, ...more })).version;
    const version = versionWith({});
    expect(version).toMatch(/^[0-9a-f]{16}$/);
    for (const same of [
      { label: 'Set point', class: 'heater', telemetry: false },
      { readBack: '1m', repeatEvery: '10m' },
      { limits: { max: 40 }, safe: { start: 0 }, operatorUntil: 'release' },
    ])
      expect(versionWith(same)).toBe(version);
    const others = [{ address: 4 }, { scale: 10 }, { unitId: 2 }, { connection: { ...tcp, host: 'other.local' } }];
    expect(new Set(others.map(versionWith)).add(version)).toHaveProperty('size', 5);
  });

  it('leave a kind the time that it takes itself', () => {
    expect([GPIO, SERIAL, COMMAND, COIL].map((config) => actuatorSettings(config).deadlineMs)).toEqual([
      5_000, 5_300, 2_500, 5_000,
    ]);
  });

  it.each([
    ['1s', 5_000],
    ['10s', 40_500],
    ['1m', 240_500],
  ])(
    'leave a Modbus unit that may take %s to answer the time for it, and for the one before it on the line',
    (responseTimeout, deadlineMs) => {
      const connection = { transport: 'rtu', port: '/dev/ttyS1', baudRate: 9600, responseTimeout };
      const configs = ['coil', 'holding'].map((table) =>
        parse({ kind: 'modbus-write', connection, table, address: 3 }),
      );
      expect(configs.map((config) => actuatorSettings(config).deadlineMs)).toEqual([deadlineMs, deadlineMs]);
    },
  );

  it('hold a duty cycle within 0 and 100, and within what is narrower', () => {
    expect(actuatorSettings(PWM).limits).toStrictEqual({ min: 0, max: 100 });
    expect(actuatorSettings(parse({ ...written(PWM), limits: { min: 20, max: 80 } })).limits).toEqual({
      min: 20,
      max: 80,
    });
    expect(actuatorSettings(REGISTER).limits).toStrictEqual({});
  });

  it('refuse what a register has no room for before anything is written, off as well', () => {
    const half = parse({ kind: 'modbus-write', connection: tcp, address: 3, type: 'uint16', scale: 0.1, offset: 5 });
    const taken = [0, 4.9, 5, 21, 6_558.5, 6_558.6].map((value) => {
      try {
        return checkValue(actuatorSettings(half), value);
      } catch (error) {
        return (error as { code: string }).code;
      }
    });
    const beyond = 'actuators/out-of-range';
    expect(taken).toEqual([beyond, beyond, 5, 21, 6_558.5, beyond]);
    for (const config of [COIL, BIT]) expect(checkValue(actuatorSettings(config), true)).toBe(true);
  });

  it('say what stays as it is while this board has no power: all but its own pins', () => {
    const kinds: readonly object[] = [
      { kind: 'gpio-output', line: 'GPIO17' },
      written(PWM),
      written(REGISTER),
      { kind: 'command', program: '/bin/true' },
      { kind: 'serial-write', port: '/dev/ttyS0', template: '{value}' },
    ];
    expect(kinds.map((one) => actuatorSettings(parse(one)).ownSupply)).toEqual([false, false, true, true, true]);
  });

  it('say what is not written again after a start', () => {
    const register = { kind: 'modbus-write', connection: tcp, address: 1 };
    const kinds = [
      { kind: 'gpio-output', line: 'GPIO17' },
      { kind: 'command', program: '/bin/true' },
      { kind: 'command', program: '/bin/true', readBack: { program: '/bin/true' } },
      { kind: 'command', program: '/bin/true', restore: 'repeat' },
      { kind: 'serial-write', port: '/dev/ttyS0', template: '{value}' },
      register,
      { ...register, readBack: false },
      { ...register, readBack: false, restore: 'repeat' },
    ];
    const settings = kinds.map((one) => actuatorSettings(parse(one)));
    expect(settings.map(({ writtenOnce }) => writtenOnce)).toEqual([
      ...[false, true, false, false, true, false, true, false],
    ]);
    expect(settings.map(({ restore }) => restore)).toEqual([...[false, false, false, true, false, false, false, true]]);
  });

  it('are what is written, and nothing that is not', () => {
    const limits = { minOn: '1s', minOff: '2s', maxOn: '3s', maxSwitchesPerHour: 4 };
    const safe = { start: false, stop: true, crash: false, noContact: { after: '5m', value: true } };
    const relay = parse({
      kind: 'gpio-output',
      line: 'GPIO17',
      maxPulse: '7s',
      restore: true,
      interlocks: ['two'],
      limits,
      safe,
    });
    expect(actuatorSettings(relay)).toEqual({
      name: 'one',
      valueType: 'boolean',
      neverWith: [{ with: 'two', gapMs: 0 }],
      operatorUntil: 'ruleChange',
      restore: true,
      deadlineMs: 5_000,
      idempotent: true,
      ownSupply: false,
      writtenOnce: false,
      limits: { minOnMs: 1_000, minOffMs: 2_000, maxOnMs: 3_000, maxSwitchesPerHour: 4, maxPulseMs: 7_000 },
      safe: { start: false, stop: true, crash: false, noContact: { afterMs: 300_000, value: true } },
    });
    const { restore, safe: nothing, neverWith } = actuatorSettings(REGISTER);
    expect({ restore, nothing, neverWith }).toEqual({ restore: false, nothing: {}, neverWith: [] });
    expect(actuatorSettings(parse({ ...written(REGISTER), limits: { min: 0, max: 9, step: 3 } })).limits).toEqual({
      min: 0,
      max: 9,
      step: 3,
    });
  });
});

/** As a file would say it. */
function written(config: ActuatorConfig): object {
  return config === PWM
    ? { kind: 'pwm', chip: 0, channel: 1, frequency: '25kHz' }
    : { kind: 'modbus-write', connection: tcp, table: 'holding', address: 3, type: 'int16' };
}

describe('the driver of an actuator', () => {
  /** Ports that only say that they were asked. */
  const asked = (name: string) => ({
    openOutput: async () => Promise.reject(new Error(name)),
    openChannel: async () => Promise.reject(new Error(name)),
    open: async () => Promise.reject(new Error(name)),
  });
  const ports = {
    gpio: asked('gpio'),
    pwm: asked('pwm'),
    serialBuses: asked('serial'),
    serial: asked('serial'),
    modbus: asked('modbus'),
  } as unknown as Ports;
  const deps = { ports, clock: new FakeClock(), runProgram };

  it('is the one of its kind', async () => {
    for (const [config, port] of [
      [GPIO, 'gpio'],
      [PWM, 'pwm'],
      [SERIAL, 'serial'],
      [COIL, 'modbus'],
    ] as const)
      await expect(openDriver(config, deps, never)).rejects.toThrow(port);
    await (await openDriver(COMMAND, deps, never)).write(1, never);
    await expect(reopeningDriver(GPIO, deps).write(true, never)).rejects.toThrow('gpio');
  });

  it('can be asked where its kind can, and where that is wanted', () => {
    const readable = (config: ActuatorConfig): boolean => reopeningDriver(config, deps).read !== undefined;
    expect([GPIO, PWM, SERIAL, COMMAND, COIL].map(readable)).toEqual([true, true, false, false, true]);
    expect(readable(parse({ kind: 'modbus-write', connection: tcp, table: 'coil', address: 3, readBack: false }))).toBe(
      false,
    );
    const readBack = { program: '/bin/cat', arguments: ['/proc/uptime'] };
    expect(
      readable(parse({ kind: 'command', program: '/bin/true', arguments: [], valueType: 'number', readBack })),
    ).toBe(true);
  });
});

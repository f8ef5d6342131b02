/** A setpoint is what its register makes of it: wanted, written, told and kept by everybody as one number, before a restart and after it. */
import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { FewLines } from '../../../test/support/few-lines.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { nearestModbus } from '../../config/fields/modbus-types.ts';
import { configSchema } from '../../config/schema/agent-config.ts';
import type { ModbusLink } from '../../hardware/modbus-port.ts';
import { silentLog } from '../../host/log.ts';
import { runProgram } from '../../host/run-program.ts';
import { Actuators } from '../actuators.ts';

const never = new AbortController().signal;
let register: number;
let writes: number;
let clock: FakeClock;
let files: MemoryFiles;

const link = {
  writeRegisters: async (_unit: number, _address: number, [word = 0]: readonly number[]) => {
    writes += 1;
    register = word;
  },
  readRegisters: async () => [register],
  close: async () => {},
  ranked: () => link,
  onReturn: () => () => {},
} as Partial<ModbusLink> as ModbusLink;

async function open(safe: object = {}): Promise<Actuators> {
  const config = configSchema.parse({
    version: 1,
    platform: { url: 'http://platform', accessToken: 'secret-token' },
    stateFolder: '/state',
    runFolder: '/run',
    sensors: [{ name: 'room', kind: 'host', period: '1s' }],
    actuators: [
      {
        name: 'boiler',
        kind: 'modbus-write',
        connection: { transport: 'tcp', host: 'plc' },
        address: 40,
        scale: 0.1,
        restore: true,
        safe,
      },
    ],
    rules: [
      {
        name: 'cold',
        when: { sensor: 'room', key: 't', below: 5 },
        set: { actuator: 'boiler', value: 30.04 },
        otherwise: 12.26,
      },
    ],
  });
  const ports = { ...new FewLines().ports, modbus: { open: async () => link, close: async () => {} } };
  const deps = {
    config,
    ports,
    clock,
    files,
    runProgram,
    log: silentLog,
    alerts: { raise: () => {}, clear: () => {} },
  };
  const opening = Actuators.open(
    { ...deps, onRuleEvent: () => {}, report: () => {}, localTime: () => undefined },
    never,
  );
  await clock.advance(100);
  return await opening;
}

beforeEach(() => {
  [register, writes, clock, files] = [0, 0, new FakeClock(), new MemoryFiles()];
});

it('is told as it was written, and so after a restart', async () => {
  const before = await open();
  expect(await before.control.set('boiler', 21.37, { by: 'rpc' }, never)).toMatchObject({ value: 21.4, desired: 21.4 });
  expect(await before.control.read('boiler', never)).toMatchObject({ value: 21.4 });
  const closing = before.close();
  await clock.advance(5_000);
  await closing;
  const after = await open();
  expect([after.states()[0]?.value, register]).toEqual([21.4, 214]);
  expect(await after.control.set('boiler', 0.04, { by: 'rpc' }, never)).toMatchObject({ value: 0, desired: 0 });
});

it('is what a rule and a safe state want, so that neither tries for ever', async () => {
  const side = await open({ start: 4.96 });
  expect([side.states()[0]?.value, register, writes]).toEqual([5, 50, 1]);
  for (let n = 0; n < 20; n += 1) {
    side.rules.take('room', 't', 1);
    await clock.advance(1_000);
  }
  expect([side.states()[0], register, writes]).toMatchObject([
    { value: 30, desired: 30, by: 'rule', fault: undefined },
    300,
    2,
  ]);
  for (let n = 0; n < 20; n += 1) {
    side.rules.take('room', 't', 20);
    await clock.advance(1_000);
  }
  expect([side.states()[0]?.value, register, writes]).toEqual([12.3, 123, 3]);
});

it('is held by a rule that wants it in a silence of the platform, also where somebody has said the same', async () => {
  const side = await open({ noContact: { after: '1m', value: 0 } });
  side.rules.take('room', 't', 1);
  await clock.advance(1_000);
  await side.control.set('boiler', 30.04, { by: 'rpc' }, never);
  for (let n = 0; n < 120; n += 1) {
    side.rules.take('room', 't', 1);
    await clock.advance(1_000);
  }
  expect([side.states()[0]?.value, register]).toEqual([30, 300]);
});

it.each([
  ['uint32', 1, 4_294_967_295, 4_294_967_295],
  ['int64', 1, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ['int16', 0.5, 2.2, 2],
  ['float32', 1, 21.37, 21.37],
  ['float32', 1, 16_777_217, 16_777_216],
  ['float64', 1, 0.1 + 0.2, 0.1 + 0.2],
] as const)('of type %s in steps of %d is not changed but by its steps: %d', (type, scale, value, nearest) => {
  expect(nearestModbus({ type, scale, offset: 0 }, value)).toBe(nearest);
  expect(nearestModbus({ type, scale, offset: 0 }, nearest)).toBe(nearest);
});

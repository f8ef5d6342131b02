/** A relay board that has its power from its port: unplugged, it is off, whatever it has taken. */
import { beforeEach, expect, it } from 'vitest';
import { ActuatorBench } from '../../../test/support/actuator-bench.ts';
import { COMMON } from '../../../test/support/actuator-driver.ts';
import { relaySettings } from '../../../test/support/fake-actuator.ts';
import type { Ports } from '../../hardware/ports.ts';
import { SerialBuses } from '../../hardware/serial-buses.ts';
import { type SerialPort, unplugged } from '../../hardware/serial-port.ts';
import { runProgram } from '../../host/run-program.ts';
import { english } from '../../names/sentences.ts';
import { loadActuatorDrivers, reopeningDriver } from '../open-driver.ts';

let bench: ActuatorBench;
let told: string[];
let isPlugged: boolean;
let watchers: Set<(plugged: boolean, reason: string) => void>;

async function open(path = '/dev/ttyUSB0', valueType: 'boolean' | 'string' = 'boolean'): Promise<void> {
  const port: SerialPort = {
    path,
    plugged: true,
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
    valueType,
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
  await bench.open(relaySettings('lamp', { valueType, idempotent: false, writtenOnce: true }));
}

async function plug(plugged: boolean): Promise<void> {
  isPlugged = plugged;
  for (const watcher of watchers) watcher(plugged, 'gone');
  await bench.clock.advance(10_000);
}

beforeEach(() => {
  bench = new ActuatorBench();
  [told, isPlugged, watchers] = [[], true, new Set()];
});

const state = () => bench.control.state('lamp');

it('is not known to be on while it is away, and is told what is in force when it is back', async () => {
  await open();
  await bench.set('lamp', true);
  expect([told, state().value]).toEqual([['1'], true]);
  await plug(false);
  expect([told, state()]).toMatchObject([['1'], { value: undefined, fault: '/dev/ttyUSB0 is unplugged' }]);
  expect(bench.control.find('lamp')?.reason.why).toMatch(/^on, because the operator .*not yet: .*unplugged/);
  await plug(true);
  expect([told, state()]).toMatchObject([['1', '1'], { value: true, fault: undefined }]);
  const { cause } = bench.control.find('lamp') ?? {};
  expect(cause && english(cause.sentence)).toBe('what kept it from that is over');
});

it('goes on with a rule that holds, which says so', async () => {
  bench.rules = new Map([['lamp', [{ name: 'dusk', protect: false, set: true, version: '1' }]]]);
  await open();
  void bench.control.find('lamp')?.take({ kind: 'read', rule: 'dusk', holds: true });
  await bench.clock.advance(0);
  await plug(false);
  await plug(true);
  expect([told, state().value]).toEqual([['1', '1'], true]);
  expect(bench.events.slice(-2)).toMatchObject([
    { rule: 'dusk', refusal: expect.stringContaining('unplugged') },
    { rule: 'dusk' },
  ]);
});

it('is told off again', async () => {
  await open();
  await bench.set('lamp', false);
  await plug(false);
  expect(state().value).toBeUndefined();
  await plug(true);
  expect([[...new Set(told)], state().value, bench.alarms.at(-1)]).toEqual([['0'], false, ['lamp', undefined]]);
});

it('ends its pulse', async () => {
  await open();
  expect(await bench.pulse('lamp', 50_000)).toBe('moved');
  await plug(false);
  await plug(true);
  expect([told[0], [...new Set(told.slice(1))], state().value]).toEqual(['1', ['0'], false]);
});

it('is told no text twice', async () => {
  await open('/dev/ttyUSB0', 'string');
  await bench.set('lamp', 'hello');
  await plug(false);
  await plug(true);
  expect([told, state().value]).toEqual([['hello'], undefined]);
});

it('is as it was behind a network that was away', async () => {
  await open('tcp://server:4001');
  await bench.set('lamp', true);
  await plug(false);
  expect([told, state().value]).toEqual([['1'], true]);
});

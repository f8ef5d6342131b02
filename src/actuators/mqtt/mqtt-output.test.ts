/** Outputs behind an MQTT broker: what they are told, what proves a command, and what is said where nothing does. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ActuatorBench } from '../../../test/support/actuator-bench.ts';
import { actuatorSchema } from '../../config/schema/actuators.ts';
import type { ActuatorConfig } from '../../config/schema/agent-config.ts';
import { retryable } from '../../errors/agent-error.ts';
import type { MqttConnection, MqttListener, MqttPublication } from '../../hardware/mqtt-port.ts';
import type { Ports } from '../../hardware/ports.ts';
import { runProgram } from '../../host/run-program.ts';
import { actuatorSettings } from '../actuator-settings.ts';
import { reopeningDriver } from '../open-driver.ts';
import { type MqttOutputConfig, mqttOutput } from './definition.ts';
import { opener } from './driver.ts';
import { messageFor, stateIn } from './messages.ts';

const BROKER = { name: 'house', url: 'mqtt://b', version: '5', keepAliveMs: 30_000, maxPacketBytes: 1_000 } as const;
const PLUG = {
  name: 'plug',
  kind: 'mqtt',
  broker: 'house',
  topic: 'plug/set',
  send: { on: 'ON', off: 'OFF' },
  stateTopic: 'plug',
};

let bench: ActuatorBench;
let published: MqttPublication[];
let outage: string | undefined;
let lose: () => void;
let opened: number;
let onPublish: (publication: MqttPublication) => void | Promise<void>;
let listeners: Set<MqttListener>;

function say(text: string, isRetained = false): void {
  for (const listener of listeners) void listener({ topic: 'plug', payload: Buffer.from(text), isRetained });
}

/** Says it once the broker has taken the command. */
function sayLater(text: string): void {
  bench.clock.after(20, () => say(text));
}

async function open(more: Readonly<Record<string, unknown>> = {}) {
  const config = actuatorSchema.parse({ ...PLUG, ...more }) as ActuatorConfig;
  const connection: MqttConnection = {
    get outage() {
      return outage;
    },
    onOutage: (listener) => {
      lose = listener;
      return () => {};
    },
    refusal: () => undefined,
    subscribe: (_filter, listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    publish: async (publication) => {
      if (outage !== undefined) throw retryable('hardware/mqtt-no-answer', outage);
      published.push(publication);
      await onPublish(publication);
    },
    close: async () => {},
  };
  const mqtt = {
    open: async () => {
      opened += 1;
      return connection;
    },
    close: async () => {},
  };
  const deps = { ports: { mqtt } as unknown as Ports, clock: bench.clock, runProgram, brokerOf: async () => BROKER };
  bench.drivers.plug = reopeningDriver(config, deps, opener(config as MqttOutputConfig, deps));
  const opening = bench.open(actuatorSettings(config));
  await bench.clock.advance(6_000);
  return await opening;
}

beforeEach(() => {
  bench = new ActuatorBench();
  [published, outage, lose, opened, onPublish, listeners] = [[], undefined, () => {}, 0, () => {}, new Set()];
});

describe('an output with a state topic', () => {
  it('is moved when the device says so, by a command that expires with its deadline', async () => {
    const control = await open();
    onPublish = () => sayLater('ON');
    const moving = bench.set('plug', true);
    await bench.clock.advance(100);
    expect(await moving).toBe('moved');
    expect(published).toEqual([{ topic: 'plug/set', payload: 'ON', qos: 1, retain: false, expiresAfterMs: 5_000 }]);
    expect(control.state('plug')).toMatchObject({ value: true, fault: undefined });
    expect(control.state('plug').isUnproven).toBeUndefined();
  });

  it('is moved by a quick device, whose state comes in one read with the acknowledgement of the broker', async () => {
    const control = await open();
    onPublish = () => say('ON');
    const moving = bench.set('plug', true);
    await bench.clock.advance(1);
    expect(await moving).toBe('moved');
    expect(control.state('plug')).toMatchObject({ value: true, fault: undefined });
  });

  it('is not moved by a broker alone, nor by what was retained, nor by what it took back before the broker took it', async () => {
    const control = await open();
    say('OFF');
    onPublish = () => {
      say('ON');
      say('OFF');
      bench.clock.after(40, () => say('ON', true));
    };
    const moving = bench.set('plug', true);
    await bench.clock.advance(4_000);
    let isOver = false;
    void moving.then(() => {
      isOver = true;
    });
    await bench.clock.advance(900);
    expect(isOver).toBe(false);
    await bench.clock.advance(1_000);
    expect(await moving).toBe('actuators/outcome-unknown');
    expect(control.state('plug').value).toBeUndefined();
  });

  it('is told off again until the device says that it is off', async () => {
    const control = await open();
    say('ON');
    await bench.clock.advance(1_000);
    void bench.set('plug', false);
    await bench.clock.advance(20_000);
    const tries = published.length;
    expect(tries).toBeGreaterThan(1);
    expect(control.state('plug').value).toBeUndefined();
    onPublish = () => sayLater('OFF');
    await bench.clock.advance(40_000);
    expect(control.state('plug')).toMatchObject({ value: false, fault: undefined });
    const after = published.length;
    await bench.clock.advance(60_000);
    expect(published).toHaveLength(after);
  });

  it('has a command that was not proven in time stand, until it is known that the device sleeps no longer', async () => {
    const control = await open();
    say('OFF');
    const moving = bench.set('plug', true);
    await bench.clock.advance(6_000);
    expect(await moving).toBe('actuators/outcome-unknown');
    expect(control.state('plug')).toMatchObject({ value: undefined, desired: true });
    say('ON');
    await bench.clock.advance(30_000);
    expect(control.state('plug')).toMatchObject({ value: true, desired: true, fault: undefined });
    expect(control.state('plug').isChangedAtDevice).toBeUndefined();
    expect(published).toHaveLength(1);
  });

  it('shows what somebody does at the device, and says that it was done there', async () => {
    const control = await open();
    onPublish = () => sayLater('ON');
    const moving = bench.set('plug', true);
    await bench.clock.advance(100);
    await moving;
    say('OFF');
    await bench.clock.advance(1_100);
    expect(control.state('plug')).toMatchObject({ value: false, desired: true, isChangedAtDevice: true });
    expect(control.find('plug')?.reason.why).toContain('changed at the device: off');
    expect(published).toHaveLength(1);
  });

  it('has its retained state at the start, until the device speaks', async () => {
    const opening = open();
    await bench.clock.advance(1_000);
    say('ON', true);
    const control = await opening;
    expect([control.state('plug').value, control.foundAtStart('plug')]).toEqual([true, true]);
    say('OFF');
    say('ON', true);
    await bench.clock.advance(1_100);
    expect(control.state('plug').value).toBe(false);
    expect(published).toEqual([]);
  });

  it('has the state that a broker has kept while the connection was away, which proves nothing', async () => {
    const control = await open();
    say('ON');
    lose();
    say('OFF', true);
    await bench.clock.advance(1_100);
    expect(control.state('plug')).toMatchObject({ value: false, fault: undefined });
    const moving = bench.set('plug', true);
    await bench.clock.advance(10_000);
    expect(await moving).toBe('actuators/outcome-unknown');
  });

  it('is told at once what it has said by itself already, where it says nothing of what is no change', async () => {
    await open();
    say('ON');
    const moving = bench.set('plug', true);
    await bench.clock.advance(1);
    expect(await moving).toBe('moved');
  });

  it('refuses in words while the broker is away, keeps nothing, and is not opened again and again', async () => {
    const control = await open();
    outage = 'broker refuses the connection';
    const moving = bench.set('plug', true);
    await bench.clock.advance(100);
    expect(await moving).toMatch(/mqtt-no-answer|refuses the connection/);
    expect(control.state('plug')).toMatchObject({ value: undefined, fault: 'broker refuses the connection' });
    await bench.clock.advance(60_000);
    outage = undefined;
    await bench.clock.advance(60_000);
    expect([published, opened]).toEqual([[], 1]);
  });
});

describe('an output without a state topic', () => {
  it('is moved when the broker took it, and says that nobody proved it', async () => {
    const control = await open({ stateTopic: undefined, retain: true, qos: 0 });
    const moving = bench.set('plug', true);
    await bench.clock.advance(1);
    expect(await moving).toBe('moved');
    expect(published).toMatchObject([{ qos: 0, retain: true }]);
    expect(control.state('plug')).toMatchObject({ value: true, isUnproven: true });
    expect(control.find('plug')?.reason.why).toContain('nothing proves that it moved');
  });
});

describe('messages', () => {
  it('have a text in JSON as JSON has it', () => {
    const told = { template: '{"mode":"{value}"}', valueType: 'string' as const };
    expect(messageFor(told, 'a","x":"b')).toBe('{"mode":"a\\",\\"x\\":\\"b"}');
    expect(messageFor({ template: '{value}!' }, '$&"')).toBe('$&"!');
    expect(messageFor({ template: '{"t": {value}}' }, 21.5)).toBe('{"t": 21.5}');
  });

  it.each([
    [{ send: { on: 'ON', off: 'OFF' } }, 'OFF', { value: false }],
    [{ send: { on: '{"state":"ON"}', off: 'x' }, statePath: 'state' }, '{"state":"ON"}', { value: true }],
    [
      { send: { on: 'a', off: 'b' }, statePath: 's["switch:0"].output' },
      '{"s":{"switch:0":{"output":true}}}',
      { value: true },
    ],
    [{ send: { on: 'a', off: 'b' }, states: { on: 'open', off: 'shut' } }, 'shut', { value: false }],
    [{ send: { on: 'a', off: 'b' }, states: { on: 'open', off: 'shut' } }, 'on', { unknown: 'on' }],
    [{ send: { eco: 'E', boost: 'B' } }, 'B', { value: 'boost' }],
    [{ send: { eco: 'E', boost: 'B' } }, 'other', { unknown: 'other' }],
    [{ statePath: 't' }, '{"t":21.5}', { value: 21.5 }],
    [{ statePath: 't' }, '{"t":null}', undefined],
    [{ statePath: 't' }, '{"battery":3}', undefined],
    [{ statePath: 't' }, 'no JSON', undefined],
    [{}, '', undefined],
  ])('of %j, %s tells %j', (config, text, told) => {
    expect(stateIn(config, Buffer.from(text))).toEqual(told);
  });
});

it.each([
  [{ send: undefined }, 'tells nothing'],
  [{ template: '{value}' }, 'send beside template'],
  [{ send: { on: 'a' } }, 'no message for off'],
  [{ states: { on: 'a' } }, 'no state for off'],
  [{ valueType: 'number' }, 'no number:'],
  [{ stateTopic: undefined, statePath: 'state' }, 'statePath has no effect'],
  [{ stateTopic: 'plug/set' }, 'the topic of the commands'],
  [{ statePath: 'a[' }, 'no path'],
])('a configuration with %j is refused: %s', (more, problem) => {
  const config = actuatorSchema.parse({ ...PLUG, ...more }) as never;
  expect((mqttOutput.faults?.(config, ['actuators', 0]) ?? []).map((fault) => fault.problem)).toContain(problem);
});

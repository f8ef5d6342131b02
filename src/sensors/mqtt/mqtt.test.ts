/** Sensors that listen to a broker: what they make of messages, when they fail, and for how long a message is not acknowledged. */
import { describe, expect, it } from 'vitest';
import { configOf, SMALLEST } from '../../../test/support/config-file.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import type { MqttConnection, MqttListener, MqttMessage } from '../../hardware/mqtt-port.ts';
import type { Ports } from '../../hardware/ports.ts';
import { systemFiles } from '../../host/files.ts';
import { silentLog } from '../../host/log.ts';
import type { Kept } from '../../values/kept.ts';
import type { Reading } from '../kind/sensor.ts';
import { open } from './driver.ts';

const { signal } = new AbortController();
const BROKER = {
  name: 'house',
  url: 'mqtt://broker',
  version: '5',
  keepAliveMs: 30_000,
  maxPacketBytes: 1_000,
} as const;

async function listening(more: Readonly<Record<string, unknown>> = {}, keep: () => Kept = () => {}) {
  const clock = new FakeClock({ monotonicMs: 10_000 });
  const listeners = new Map<string, MqttListener>();
  let outage: string | undefined;
  let refusal: string | undefined;
  let lose = (): void => {};
  const connection: MqttConnection = {
    get outage() {
      return outage;
    },
    onOutage: (listener) => {
      lose = listener;
      return () => {};
    },
    refusal: () => refusal,
    subscribe: (filter, listener) => {
      listeners.set(filter, listener);
      return () => listeners.delete(filter);
    },
    publish: async () => {},
    close: async () => {},
  };
  const ports = { mqtt: { open: async () => connection, close: async () => {} } } as unknown as Ports;
  const config = sensorConfig({ name: 'kitchen', kind: 'mqtt', broker: 'house', topic: 'home/kitchen', ...more });
  const deps = { ...OF_THIS_MACHINE, ports, clock, files: systemFiles, log: silentLog, stateFolder: '/' };
  const brokerOf = async () => BROKER;
  const sensor = await open({ ...config, periodMs: 10_000, deadlineMs: 2_000 }, { ...deps, brokerOf }, signal);
  const heard: Reading[] = [];
  sensor.subscribe?.((readings) => {
    heard.push(...readings);
    return keep();
  });
  const say = (topic: string, text: string, isRetained = false): Kept => {
    const message: MqttMessage = { topic, payload: Buffer.from(text), isRetained };
    return (listeners.get(topic) ?? listeners.get(config.topic))?.(message);
  };
  const set = (now: { readonly outage?: string; readonly refusal?: string }): void => {
    outage = now.outage;
    refusal = now.refusal;
    if (outage !== undefined) lose();
  };
  let troubles = 0;
  sensor.onTrouble?.(() => {
    troubles += 1;
  });
  return { clock, sensor, heard, say, set, troubles: () => troubles };
}

describe('a sensor at an MQTT broker', () => {
  it('gives values at paths, members, and a number', async () => {
    const paths = await listening({ paths: { t: 'room.t', none: 'nothing' } });
    paths.say('home/kitchen', '{"room": {"t": 21.5}}');
    expect(paths.heard).toEqual([{ key: 't', value: 21.5 }]);
    expect(paths.sensor.refused?.().map(({ key }) => key)).toEqual(['none']);
    const members = await listening();
    members.say('home/kitchen', '{"t": 21.5, "open": true}');
    expect(members.heard.map(({ key, value }) => [key, value])).toEqual([
      ['t', 21.5],
      ['open', true],
    ]);
  });

  it('takes keys from a level of the topic', async () => {
    const { heard, say } = await listening({ topic: 'home/+/temperature', format: 'number', keyLevel: 2 });
    say('home/attic/temperature', '17.5');
    say('home/cellar/temperature', '12');
    expect(heard.map(({ key, value }) => [key, value])).toEqual([
      ['attic', 17.5],
      ['cellar', 12],
    ]);
    const json = await listening({ topic: 'home/+', keyLevel: 2 });
    json.say('home/attic', '{"t": 1}');
    expect(json.heard.map(({ key }) => key)).toEqual(['attic_t']);
  });

  it('returns how its readings are kept, and waits for nothing that cannot be read', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { say } = await listening({}, () => promise);
    let isKept = false;
    const kept = say('home/kitchen', '{"t": 1}')?.then(() => {
      isKept = true;
    });
    await Promise.resolve();
    expect(isKept).toBe(false);
    resolve();
    await kept;
    expect(isKept).toBe(true);
    expect(say('home/kitchen', 'no json')).toBeUndefined();
    expect(say('home/kitchen', '')).toBeUndefined();
  });

  it('marks what the broker retained as old, and is not kept from silence by it', async () => {
    const { clock, sensor, heard, say } = await listening();
    await clock.advance(11_000);
    say('home/kitchen', '{"t": 1}', true);
    expect(heard).toEqual([{ key: 't', value: 1, isOld: true }]);
    await clock.advance(2_000);
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'sensors/silent' });
  });

  it('fails by its last will, until it is back', async () => {
    const availability = { topic: 'home/kitchen/state', path: 'state' };
    const { clock, sensor, say } = await listening({ availability });
    await clock.advance(2_500);
    say('home/kitchen/state', '{"state": "offline"}');
    await expect(sensor.read(signal)).rejects.toThrow('home/kitchen/state says offline');
    say('home/kitchen/state', '{"state": "online"}');
    await expect(sensor.read(signal)).resolves.toEqual([]);
  });

  it('tells at once that its last will came, also in its first seconds, and not that it is back', async () => {
    const { sensor, say, troubles } = await listening({ availability: { topic: 'home/kitchen/state' } });
    say('home/kitchen/state', 'offline', true);
    expect(troubles()).toBe(1);
    await expect(sensor.read(signal)).rejects.toThrow('home/kitchen/state says offline');
    say('home/kitchen/state', 'online');
    expect(troubles()).toBe(1);
  });

  it('tells of a broker that is away for a minute, and of one that was not there from the start', async () => {
    const { clock, set, troubles } = await listening();
    await clock.advance(2_500);
    set({ outage: 'it hung up' });
    await clock.advance(59_000);
    expect(troubles()).toBe(0);
    await clock.advance(1_500);
    expect(troubles()).toBe(1);
    set({ outage: 'it hung up' });
    await clock.advance(30_000);
    set({});
    await clock.advance(60_000);
    expect(troubles()).toBe(1);
    const other = await listening();
    other.set({ outage: 'not connected yet' });
    await other.clock.advance(2_100);
    expect(other.troubles()).toBe(1);
  });

  it('says why it is silent: no broker, no right, nothing readable, nothing at all', async () => {
    const { clock, sensor, say, set } = await listening();
    set({ outage: 'broker refuses the connection' });
    // A connection takes a moment.
    await expect(sensor.read(signal)).resolves.toEqual([]);
    await clock.advance(2_500);
    await expect(sensor.read(signal)).rejects.toThrow('broker refuses the connection');
    set({ refusal: 'broker refuses home/kitchen' });
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'sensors/refused' });
    set({});
    await clock.advance(10_000);
    await expect(sensor.read(signal)).rejects.toThrow('nothing comes under home/kitchen');
    say('home/kitchen', '21,5 °C');
    await expect(sensor.read(signal)).rejects.toThrow(/1 message came .* none could be read/);
    say('home/kitchen', '{"t": 21.5}');
    await expect(sensor.read(signal)).resolves.toHaveLength(1);
  });
});

describe('a configuration with brokers', () => {
  const faultsOf = async (more: Readonly<Record<string, unknown>>): Promise<string> => {
    try {
      await configOf(
        `${SMALLEST}${Object.entries(more)
          .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
          .join('')}`,
      );
      return '';
    } catch (error) {
      return String((error as Error).message);
    }
  };
  const house = { name: 'house', url: 'mqtt://broker' };
  const sensor = { name: 'kitchen', kind: 'mqtt', broker: 'house', topic: 'home/+' };

  it('is whole with a broker that its sensors name', async () => {
    expect(await faultsOf({ brokers: [house], sensors: [sensor] })).toBe('');
  });

  it.each([
    [{ brokers: [house], sensors: [{ ...sensor, broker: 'hous' }] }, /unknown broker/],
    [{ sensors: [sensor] }, /unknown broker/],
    [{ brokers: [house, house] }, /two brokers of one name/],
    [{ brokers: [{ ...house, url: 'mqtt://agent:well-hidden@broker' }] }, /without user, password/],
    [{ brokers: [{ ...house, serverName: 'broker' }] }, /mqtts/],
    [{ brokers: [{ ...house, password: 'well-hidden' }] }, /user/],
    [{ brokers: [house], sensors: [{ ...sensor, topic: 'home/a+' }] }, /a topic/],
    [{ brokers: [house], sensors: [{ ...sensor, align: true }] }, /align/],
    [{ brokers: [house], sensors: [{ ...sensor, keyLevel: 3 }] }, /level 3 of a topic with 2/],
  ])('says what is wrong in %j', async (more, words) => {
    const told = await faultsOf(more);
    expect(told).toMatch(words);
    expect(told).not.toContain('well-hidden');
  });
});

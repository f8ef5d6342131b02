/** Sensors at a broker that stand for a sensor of each device. */
import { describe, expect, it } from 'vitest';
import type { SensorConfig } from '../../../src/config/schema/agent-config.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';

const BROKERS = 'brokers: [{ name: house, url: "mqtt://broker" }]\n';
const DEVICES = 'devices: [{ name: kitchen, accessToken: kitchen-token }, { name: attic, accessToken: attic-token }]\n';

function read(sensor: string, devices = DEVICES, more = ''): Promise<readonly SensorConfig[]> {
  const section = `sensors:\n  - { name: zigbee, kind: mqtt, broker: house, period: 1h, ${sensor} }\n${more}`;
  return configOf(`${SMALLEST}${BROKERS}${devices}${section}`).then(({ sensors }) => sensors);
}

const places = (sensors: readonly SensorConfig[]): readonly unknown[] =>
  sensors.map((sensor) => [sensor.name, sensor.device, 'topic' in sensor && sensor.topic]);

describe('a sensor with a level for the device', () => {
  it('is one of each device, with the same keys', async () => {
    const sensors = await read('topic: zigbee2mqtt/+, deviceLevel: 2, paths: { t: temperature }');
    expect(places(sensors)).toEqual([
      ['zigbee-kitchen', 'kitchen', 'zigbee2mqtt/kitchen'],
      ['zigbee-attic', 'attic', 'zigbee2mqtt/attic'],
    ]);
  });

  it('is one of those that it names, by what stands for them in the topic', async () => {
    const sensors = await read('topic: "+/state/+", deviceLevel: 1, devices: { attic: "0x00158d" }');
    expect(places(sensors)).toEqual([['zigbee-attic', 'attic', '0x00158d/state/+']]);
  });

  it('hears of the availability of each', async () => {
    const sensors = await read('topic: a/+, deviceLevel: 2, availability: { topic: a/+/availability }');
    expect(sensors.map((sensor) => 'availability' in sensor && sensor.availability?.topic)).toEqual([
      'a/kitchen/availability',
      'a/attic/availability',
    ]);
  });

  it('may come from a template', async () => {
    const template =
      'templates: { radio: { kind: mqtt, broker: house, topic: "{base}/+", deviceLevel: 2, period: 1h } }\n';
    const each = 'sensors: [{ template: radio, name: "{base}", each: [{ base: a }, { base: b }] }]';
    const { sensors } = await configOf(`${SMALLEST}${BROKERS}${DEVICES}${template}${each}`);
    expect(sensors.map(({ name }) => name)).toEqual(['a-kitchen', 'a-attic', 'b-kitchen', 'b-attic']);
  });

  it.each([
    ['topic: a/+, deviceLevel: 2', '', /deviceLevel: stands for no device.*devices: with an entry for each/],
    ['topic: a/+, deviceLevel: 1', DEVICES, /no \+ at level 1 of the topic/],
    ['topic: a/b, deviceLevel: 2', DEVICES, /no \+ at level 2 of the topic/],
    ['topic: a/+, deviceLevel: 2, device: attic', DEVICES, /deviceLevel beside device/],
    ['topic: a/+, devices: { attic: x }', DEVICES, /devices has no effect/],
    ['topic: a/+, deviceLevel: 2, devices: { attic: "x/y" }', DEVICES, /devices\.attic.*one level of a topic/],
    ['topic: a/+, deviceLevel: 2, devices: { atic: x }', DEVICES, /unknown device.*attic/],
    ['topic: a/+, deviceLevel: two', DEVICES, /deviceLevel/],
  ])('of %s is refused in words', async (sensor, devices, words) => {
    await expect(read(sensor, devices)).rejects.toThrow(words);
  });

  it('is told of at the place where it is written', async () => {
    const name = 'n'.repeat(60);
    const section = `sensors: [{ name: ${name}, kind: mqtt, broker: none, topic: a/+, deviceLevel: 2, period: 1h }]`;
    await expect(configOf(`${SMALLEST}${BROKERS}${DEVICES}${section}`)).rejects.toThrow(/sensors\[0\]\.name/);
  });
});

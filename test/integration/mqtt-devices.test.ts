/** Devices that publish to a broker, each a device of its own at the platform: by `each`, and by a level of the topic. */
import { afterEach, expect, it } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { FakeBroker } from '../support/mqtt-broker.ts';

const PATIENTLY = { timeout: 30_000, interval: 100 };
const SENSOR = 'kind: mqtt, broker: house, period: 1h, paths: { temperature: temperature }';
const PLACES = ['kitchen', 'attic'];

const clean: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of clean.splice(0).reverse()) await undo();
});

it.each([
  [
    'each',
    `{ name: "{place}", ${SENSOR}, topic: "zigbee2mqtt/{place}", device: "{place}", each: [{ place: kitchen }, { place: attic }] }`,
  ],
  ['deviceLevel', `{ name: zigbee, ${SENSOR}, topic: zigbee2mqtt/+, deviceLevel: 2 }`],
])(
  'by %s the same key is told of each device, and nothing of one that is not configured',
  async (_by, sensor) => {
    const broker = await FakeBroker.open();
    clean.push(() => broker.close());
    const platform = await LocalPlatform.start();
    clean.push(() => platform.close());
    for (const device of ['gateway', ...PLACES]) platform.ensureDevice(device, `${device}-token`);
    const agent = await AgentProcess.make(
      `version: 1
platform: { url: "${platform.url}", accessToken: gateway-token }
status: { page: "off" }
time: { trust: always }
brokers: [{ name: house, url: "${broker.url}" }]
devices: [${PLACES.map((name) => `{ name: ${name}, accessToken: ${name}-token }`).join(', ')}]
sensors:
  - ${sensor}`,
      'GATEWAY-1',
    );
    clean.push(() => agent.remove());
    agent.start();
    const filters = (): readonly string[] =>
      broker.packets.flatMap(({ type, body }) =>
        type === 'subscribe' ? (body.toString('latin1').match(/zigbee2mqtt\/\w+/) ?? []) : [],
      );
    await expect.poll(() => filters().toSorted(), PATIENTLY).toEqual(['zigbee2mqtt/attic', 'zigbee2mqtt/kitchen']);
    for (const [index, place] of ['kitchen', 'attic', 'shed'].entries())
      broker.publish(`zigbee2mqtt/${place}`, JSON.stringify({ temperature: 20 + index }), { id: index + 1 });
    const temperatures = (device: string): unknown =>
      platform
        .deviceView(device)
        ?.points.get('temperature')
        ?.map(({ value }) => value);
    await expect.poll(() => PLACES.map(temperatures), PATIENTLY).toEqual([[20], [21]]);
    expect(['gateway', 'shed'].map(temperatures)).toEqual([undefined, undefined]);
  },
  60_000,
);

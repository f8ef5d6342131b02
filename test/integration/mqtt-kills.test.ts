/**
 * A real agent and a real broker, killed at random while somebody publishes: every message that the broker has taken arrives at the platform. The
 * agent dies by SIGKILL, the broker by SIGTERM, as mosquitto writes what it keeps only then. TURNSTONE_KILLS=500 kills more often.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LinuxMqtt } from '../../src/hardware/linux-mqtt.ts';
import type { MqttConnection } from '../../src/hardware/mqtt-port.ts';
import { systemClock } from '../../src/host/clock.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { Mosquitto, missingMosquitto } from '../support/mosquitto.ts';
import { mulberry32 } from '../support/random-bytes.ts';

const KILLS = Number(process.env.TURNSTONE_KILLS ?? 50);
const SEED = Number(process.env.TURNSTONE_SEED ?? 20_261_129);
const LONGEST_LIFE_MS = 2_500;
/** One death in so many is the broker's. */
const BROKER_SHARE = 0.3;
const PUBLISH_EVERY_MS = 5;
const missing = missingMosquitto();

describe.skipIf(missing !== undefined)(`messages of a broker${missing === undefined ? '' : ` (${missing})`}`, () => {
  let broker: Mosquitto;
  let platform: LocalPlatform;
  let agent: AgentProcess;
  let port: LinuxMqtt;

  beforeAll(async () => {
    broker = await Mosquitto.open();
    await broker.start();
    platform = await LocalPlatform.start();
    platform.ensureDevice('listener', 'listener-token');
    agent = await AgentProcess.make(
      [
        'version: 1',
        `platform: { url: "${platform.url}", accessToken: listener-token }`,
        'time: { trust: always }',
        `brokers: [{ name: house, url: "${broker.url}" }]`,
        'sensors:',
        '  - { name: counter, kind: mqtt, broker: house, topic: count/+, period: 10s, format: number, key: n }',
      ].join('\n'),
      'LISTENER-1',
    );
    port = new LinuxMqtt({ clock: systemClock });
  }, 60_000);
  afterAll(async () => {
    await port?.close();
    await agent?.remove();
    await platform?.close();
    await broker?.remove();
  });

  it(
    `arrive at the platform, through ${KILLS} kills`,
    async () => {
      const random = mulberry32(SEED);
      const settings = {
        name: 'house',
        url: broker.url,
        version: '5',
        keepAliveMs: 30_000,
        maxPacketBytes: 65_536,
      } as const;
      const publisher = await port.open(settings, new AbortController().signal);
      agent.start();
      // From the first subscription on the broker keeps what is published.
      await vi.waitFor(() => expect(publisher.outage).toBeUndefined(), { timeout: 10_000 });
      await vi.waitFor(
        async () => {
          await publish(publisher, 0);
          expect(arrived()).toContain(0);
        },
        { timeout: 30_000, interval: 300 },
      );
      const taken: number[] = [];
      const publishing = new AbortController();
      const all = publishAll(publisher, taken, publishing.signal);
      for (let kills = 0; kills < KILLS; kills += 1) {
        await pause(random() * LONGEST_LIFE_MS);
        if (random() < BROKER_SHARE) {
          await broker.stop();
          await pause(random() * 200);
          await broker.start();
        } else {
          await agent.stop('SIGKILL');
          await pause(random() * 200);
          agent.start();
        }
      }
      publishing.abort();
      await all;
      expect(taken.length).toBeGreaterThan(KILLS * 10);
      const lost = (): readonly number[] => {
        const there = arrived();
        return taken.filter((one) => !there.has(one));
      };
      await vi.waitFor(() => expect(lost(), `seed ${SEED}`).toEqual([]), { timeout: 90_000, interval: 500 });
      console.log(`${KILLS} kills, ${taken.length} messages taken, ${count()} values at the platform`);
    },
    120_000 + KILLS * 4_000,
  );

  const points = () => platform.deviceView('listener')?.points.get('n') ?? [];
  const arrived = (): ReadonlySet<unknown> => new Set(points().map(({ value }) => value));
  const count = (): number => points().length;
});

function publish(publisher: MqttConnection, value: number): Promise<void> {
  const topic = `count/${value % 7}`;
  return publisher.publish({ topic, payload: String(value), retain: false }, AbortSignal.timeout(2_000));
}

/** Numbers from 1 on; one whose acknowledgement did not come may have been taken, and is not counted. */
async function publishAll(publisher: MqttConnection, taken: number[], signal: AbortSignal): Promise<void> {
  for (let value = 1; !signal.aborted; value += 1) {
    try {
      await publish(publisher, value);
      taken.push(value);
    } catch {
      await pause(50);
    }
    await pause(PUBLISH_EVERY_MS);
  }
}

/** Brokers that are changed by a reload while a sensor and an output have a connection there. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { HardwareParts } from '../../../src/agent/hardware-parts.ts';
import { thisMachine } from '../../../src/agent/machine.ts';
import type { AgentConfig } from '../../../src/config/schema/agent-config.ts';
import { AlertList } from '../../../src/host/alert-list.ts';
import { silentLog } from '../../../src/host/log.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { FakeBroker } from '../../support/mqtt-broker.ts';

const never = new AbortController().signal;
const SENSOR = (broker: string): string =>
  `sensors:\n  - { name: kitchen, kind: mqtt, broker: ${broker}, topic: kitchen, period: 1h }`;
const OUTPUT = (broker: string): string => `actuators:
  - { name: plug, kind: mqtt, broker: ${broker}, topic: plug/set, send: { on: "ON", off: "OFF" }, stateTopic: plug }`;
const HOUSE = [SENSOR('house'), OUTPUT('house')];

let folder: string;
let broker: FakeBroker;
let other: FakeBroker;
let parts: HardwareParts | undefined;
let told: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-reload-'));
  [broker, other] = [await FakeBroker.open(), await FakeBroker.open()];
  told = [];
});
afterEach(async () => {
  await parts?.close();
  parts = undefined;
  broker.close();
  other.close();
  await rm(folder, { recursive: true, force: true });
});

const until = (what: () => void): Promise<void> => vi.waitFor(what, { timeout: 10_000, interval: 10 });

function config(settings: string, users: readonly string[] = HOUSE): Promise<AgentConfig> {
  const brokers = settings === '' ? '' : `brokers: [{ clientId: gateway, user: agent, ${settings} }]\n`;
  return configOf(`${SMALLEST}
stateFolder: ${folder}/state
runFolder: ${folder}/run
${brokers}${users.join('\n')}
`);
}

async function open(started: AgentConfig): Promise<HardwareParts> {
  const opening = HardwareParts.open(
    {
      config: started,
      machine: thisMachine,
      log: silentLog,
      keyOf: (key) => key,
      onSamples: () => {},
      clientRpc: async () => null,
      report: () => {},
      reportSensor: (name, state) => void told.push(`${name} ${state}`),
      alerts: new AlertList(silentLog),
      localTime: () => undefined,
    },
    never,
  );
  // The state at the start is waited for.
  if (started.actuators.length > 0) await untilState(broker);
  parts = await opening;
  parts.sampler.start(never);
  return parts;
}

const texts = ({ packets }: FakeBroker, type: string): readonly string[] =>
  packets.filter((packet) => packet.type === type).map(({ body }) => body.toString('latin1'));
/** The device's retained state follows its subscription. */
async function untilState(at: FakeBroker, connections = 1): Promise<void> {
  const plugs = () => texts(at, 'subscribe').filter((text) => text.includes('plug'));
  await until(() => expect(plugs()).toHaveLength(connections));
  at.publish('plug', 'OFF', { retain: true });
}

async function untilHeard(at: FakeBroker, connections: number): Promise<void> {
  await untilState(at, connections);
  await until(() => {
    expect(at.connections).toBe(connections);
    expect(texts(at, 'subscribe')).toHaveLength(2 * connections);
  });
}

async function publishedBy(field: HardwareParts, at: FakeBroker): Promise<void> {
  const before = texts(at, 'publish').length;
  const moving = field.actuators.control.set('plug', true, { by: 'local' }, never).catch(() => {});
  await until(() => expect(texts(at, 'publish')).toHaveLength(before + 1));
  at.publish('plug', 'ON');
  await moving;
  expect(field.actuators.control.state('plug').value).toBe(true);
}

it('a changed password is taken up by one new connection, behind the end of the old one', async () => {
  const field = await open(await config(`name: house, url: "${broker.url}", password: old-secret`));
  await untilHeard(broker, 1);
  await field.configure(await config(`name: house, url: "${broker.url}", password: new-secret`));
  await untilHeard(broker, 2);
  const order = broker.packets.map(({ type }) => type).filter((type) => type === 'connect' || type === 'disconnect');
  expect(order).toEqual(['connect', 'disconnect', 'connect']);
  const [first, second] = texts(broker, 'connect');
  expect([first?.includes('old-secret'), second?.includes('new-secret')]).toEqual([true, true]);
  await publishedBy(field, broker);
  expect(told.filter((words) => words.includes('failing'))).toEqual([]);
});

it('a changed url moves the sensor and the output to the other broker', async () => {
  const field = await open(await config(`name: house, url: "${broker.url}"`));
  await untilHeard(broker, 1);
  await field.configure(await config(`name: house, url: "${other.url}"`));
  await untilHeard(other, 1);
  expect(texts(broker, 'disconnect')).toHaveLength(1);
  await publishedBy(field, other);
  expect(broker.connections).toBe(1);
});

it('an output keeps a broker that is gone until the restart, as the output itself stays', async () => {
  const field = await open(await config(`name: house, url: "${broker.url}"`));
  await untilHeard(broker, 1);
  await field.configure(await config('', []));
  await publishedBy(field, broker);
  expect([broker.connections, texts(broker, 'disconnect')]).toEqual([1, []]);
});

it('a broker that has another name now has one connection', async () => {
  const field = await open(await config(`name: house, url: "${broker.url}"`));
  await untilHeard(broker, 1);
  await field.configure(await config(`name: home, url: "${broker.url}"`, [SENSOR('home'), OUTPUT('home')]));
  await untilHeard(broker, 2);
  await publishedBy(field, broker);
  expect(broker.connections).toBe(2);
});

it('the connection ends with the last sensor of a broker that is gone', async () => {
  const field = await open(await config(`name: house, url: "${broker.url}"`, [SENSOR('house')]));
  await until(() => expect(texts(broker, 'subscribe')).toHaveLength(1));
  await field.configure(await config('', []));
  await until(() => expect(texts(broker, 'disconnect')).toHaveLength(1));
});

/** `turnstone scan mqtt`, and the question of `init`, at Debian's mosquitto with recorded announcements; and an output that moves by it. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openDriver } from '../../../src/actuators/open-driver.ts';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { firstConfigText } from '../../../src/cli/first-config.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { asksForBroker } from '../../../src/cli/init.ts';
import { actuatorSchema } from '../../../src/config/schema/actuators.ts';
import type { ActuatorConfig } from '../../../src/config/schema/agent-config.ts';
import { LinuxMqtt } from '../../../src/hardware/linux-mqtt.ts';
import type { MqttConnection } from '../../../src/hardware/mqtt-port.ts';
import type { Ports } from '../../../src/hardware/ports.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { runProgram } from '../../../src/host/run-program.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { fakeEdge } from '../../support/fake-edge.ts';
import { Mosquitto, missingMosquitto } from '../../support/mosquitto.ts';

const FIXTURE = join(import.meta.dirname, '../../fixtures/mqtt/announcements.json');
const missing = missingMosquitto();
const { signal } = new AbortController();

describe.skipIf(missing !== undefined)(`a broker${missing === undefined ? '' : ` (${missing})`}`, () => {
  let broker: Mosquitto;
  let mqtt: LinuxMqtt;
  let device: MqttConnection;
  let folder: string;
  const brokerOf = async () =>
    ({ name: 'house', url: broker.url, version: '5', keepAliveMs: 30_000, maxPacketBytes: 100_000 }) as const;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnstone-scan-mqtt-'));
    broker = await Mosquitto.open();
    await broker.start();
    mqtt = new LinuxMqtt({ clock: systemClock });
    device = await mqtt.open({ ...(await brokerOf()), name: 'device' }, signal);
    await vi.waitFor(() => expect(device.outage).toBeUndefined(), { timeout: 5_000 });
    const { messages } = JSON.parse(await readFile(FIXTURE, 'utf8'));
    for (const [topic, one] of Object.entries(messages)) {
      const payload = typeof one === 'string' ? one : JSON.stringify(one);
      await device.publish({ topic, payload, retain: true }, signal);
    }
  }, 30_000);
  afterAll(async () => {
    await mqtt?.close();
    await broker?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  async function scan(...flags: readonly string[]) {
    const edge = fakeEdge({ environment: { MQTT_PASSWORD: 'well-hidden' } });
    const exitCode = await runCommandLine(['scan', 'mqtt', '--for', '500ms', ...flags], { edge, version: () => '' });
    return { exitCode, out: edge.out(), err: edge.err() };
  }

  it('shows sections that a configuration takes', async () => {
    const { exitCode, out } = await scan('--broker', broker.url);
    expect(exitCode).toBe(EXIT.ok);
    const config = await configOf(`${SMALLEST}${out}`);
    expect(config.sensors.filter(({ kind }) => kind === 'mqtt')).toHaveLength(6);
    expect(config.actuators).toHaveLength(6);
    expect(out).toContain('# my_plug (Xiaomi ZNCZ02LM), by Zigbee2MQTT');
  });

  it('is asked by its name, and with a user whose password is shown nowhere', async () => {
    const file = join(folder, 'named.yaml');
    await writeFile(file, `brokers: [{ name: shed, url: "${broker.url}" }]\nsensors: 7\n`);
    const named = await scan('--broker', 'shed', '--config', file);
    expect([named.exitCode, named.out.includes('broker: shed'), named.out.includes('brokers:')]).toEqual([
      0,
      true,
      false,
    ]);
    const told = await scan('--broker', broker.url, '--user', 'agent');
    expect(told.exitCode).toBe(EXIT.ok);
    expect(told.out).toContain('passwordFile:');
    expect(`${told.out}${told.err}`).not.toContain('well-hidden');
    const wrong = await scan('--broker', broker.url.replace('//', '//agent:well-hidden@'));
    expect(wrong.exitCode).toBe(EXIT.usage);
    expect(wrong.err).not.toContain('well-hidden');
    expect((await scan('--broker', 'mqtt://127.0.0.1:1')).err).toContain('refuses the connection');
  }, 40_000);

  it('is found by init, which asks once and leaves outputs as comments', async () => {
    const flags = { yes: undefined, scan: true, simulate: undefined };
    const edge = fakeEdge({ answers: ['y', 'n'] });
    const atBroker = await asksForBroker(flags, edge, broker.port);
    expect(edge.asked).toEqual([expect.stringContaining(`localhost:${broker.port}`)]);
    const found = { chips: [], thermometers: [], serialPorts: [], faults: [] };
    const text = firstConfigText({ url: 'https://iot.example.org', credentials: { way: 'later' }, found, atBroker });
    const config = await configOf(text);
    expect(config.sensors.filter(({ kind }) => kind === 'mqtt')).toHaveLength(6);
    expect(config.actuators).toEqual([]);
    expect(text).toMatch(/^# {3}- \{ name: my_plug_switch/m);
    expect(await asksForBroker(flags, edge, broker.port)).toBeUndefined();
    expect(await asksForBroker(flags, edge, 1)).toBeUndefined();
    expect(edge.asked).toHaveLength(2);
  }, 40_000);

  it('moves an output that says what it is, and proves nothing by what it retained', async () => {
    const config = actuatorSchema.parse({
      name: 'plug',
      kind: 'mqtt',
      broker: 'house',
      topic: 'cmnd/plug/POWER',
      send: { on: 'ON', off: 'OFF' },
      stateTopic: 'stat/plug/POWER',
      deadline: '1s',
    }) as ActuatorConfig;
    await device.publish({ topic: 'stat/plug/POWER', payload: 'ON', retain: true }, signal);
    const ports = { mqtt } as unknown as Ports;
    const driver = await openDriver(config, { ports, clock: systemClock, runProgram, brokerOf }, signal);
    expect(await driver.read?.(signal)).toBe(true);
    await expect(driver.write(true, signal)).rejects.toMatchObject({ code: 'hardware/outcome-unknown' });
    const stop = device.subscribe('cmnd/plug/POWER', ({ payload }) => {
      void device.publish({ topic: 'stat/plug/POWER', payload, retain: true }, signal);
    });
    await vi.waitFor(async () => await driver.write(false, signal), { timeout: 10_000 });
    expect(await driver.read?.(signal)).toBe(false);
    stop();
    await driver.close();
  }, 30_000);
});

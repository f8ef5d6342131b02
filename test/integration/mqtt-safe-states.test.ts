/** The stop hook as the service calls it, after an agent with an output behind a broker was killed. */
import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LinuxMqtt } from '../../src/hardware/linux-mqtt.ts';
import type { MqttConnection } from '../../src/hardware/mqtt-port.ts';
import { systemClock } from '../../src/host/clock.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { AGENT_PROGRAM } from '../support/agent-program.ts';
import { Mosquitto, missingMosquitto } from '../support/mosquitto.ts';

const SCRIPT = resolve(import.meta.dirname, '../../systemd/set-safe-states');
const { signal: never } = new AbortController();
const missing = missingMosquitto();

let broker: Mosquitto;
let agent: AgentProcess;
let port: LinuxMqtt;
let plug: MqttConnection;
let commands: string[];

beforeEach(async () => {
  broker = await Mosquitto.open({ password: 'a-secret' });
  await broker.start();
  port = new LinuxMqtt({ clock: systemClock });
  const settings = { name: 'plug', url: broker.url, version: '5', user: 'agent', password: 'a-secret' } as const;
  plug = await port.open({ ...settings, keepAliveMs: 30_000, maxPacketBytes: 65_536 }, never);
  commands = [];
  plug.subscribe('plug/set', async ({ payload }) => {
    const text = Buffer.from(payload).toString();
    commands.push(text);
    await plug.publish({ topic: 'plug', payload: text, retain: false }, AbortSignal.timeout(2_000)).catch(() => {});
  });
  agent = await AgentProcess.make(
    `version: 1
platform: { url: "http://127.0.0.1:1", accessToken: fixture-token }
status: { page: "off" }
brokers: [{ name: house, url: "${broker.url}", user: agent, password: a-secret }]
actuators:
  - name: plug
    kind: mqtt
    broker: house
    topic: plug/set
    send: { on: "ON", off: "OFF" }
    stateTopic: plug
    safe: { start: on, crash: off }`,
    'PLUG-1',
  );
}, 60_000);
afterEach(async () => {
  await port.close();
  await agent.remove();
  await broker.remove();
});

/** Exit code and words of the service's script, with this program as the only release. */
async function runHook(): Promise<readonly [number | string, string]> {
  const root = join(agent.folder, 'root');
  const release = join(root, 'opt/turnstone/current');
  await mkdir(release, { recursive: true });
  await mkdir(join(root, 'etc/turnstone'), { recursive: true });
  await symlink(agent.configFile, join(root, 'etc/turnstone/turnstone.yaml'));
  const program = `#!/bin/sh\nexec "${process.execPath}" "${AGENT_PROGRAM}" "$@"\n`;
  await writeFile(join(release, 'turnstone'), program, { mode: 0o755 });
  const env = { ...process.env, TURNSTONE_ROOT: root, SERVICE_RESULT: 'signal' };
  return new Promise((done) =>
    execFile(SCRIPT, { env }, (error, out, err) => done([error?.code ?? 0, `${out}${err}`] as const)),
  );
}

describe.skipIf(missing !== undefined)('after a kill the stop hook', () => {
  beforeEach(async () => {
    agent.start();
    await vi.waitFor(() => expect(commands).toContain('ON'), { timeout: 30_000 });
    await agent.stop('SIGKILL');
  }, 60_000);

  it('has the device in its safe state, and says so', async () => {
    expect(await runHook()).toEqual([0, 'plug: set to off\n']);
    expect(commands.at(-1)).toBe('OFF');
  }, 60_000);

  it('says within its time that the broker is away', async () => {
    await broker.stop();
    const [code, words] = await runHook();
    expect(words).toContain(`plug: 127.0.0.1:${broker.port} refuses the connection\n`);
    expect(words).toContain('not in their safe states: plug');
    expect(code).toBe(1);
  }, 60_000);
});

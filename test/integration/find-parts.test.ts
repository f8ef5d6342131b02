/** A running agent finds a chip on its board for whoever stands beside it; the platform may not ask. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Agent } from '../../src/agent/agent.ts';
import { thisMachine } from '../../src/agent/machine.ts';
import { reachAgent } from '../../src/cli/agent-calls.ts';
import { ControlClient } from '../../src/control-socket/control-client.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { ROOM_SIGNALS } from '../../src/stand-ins/simulated-board/room-signals.ts';
import { type BoardBench, openBoardBench } from '../support/board-bench.ts';
import { fakeEdge } from '../support/fake-edge.ts';
import { freePort } from '../support/free-port.ts';
import { RestPerson } from '../support/rest-person.ts';

const PIN = 'look-pin-7720';
const FOUND = {
  id: 'i2c-1-0x77',
  what: 'BME280: temperature, pressure, humidity',
  readings: [expect.any(String), expect.any(String), expect.any(String)],
  sensor: { name: 'bme280', kind: 'bme280', bus: 1, address: 0x77 },
};

let folder: string;
let board: BoardBench;
let platform: LocalPlatform;
let agent: Agent;
let pageUrl: string;
const stop = new AbortController();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-find-parts-'));
  board = await openBoardBench(() => ({
    i2c: [
      {
        bus: 1,
        chips: [
          { kind: 'bme280', address: 0x76, signals: ROOM_SIGNALS },
          { kind: 'bme280', address: 0x77, signals: ROOM_SIGNALS },
        ],
      },
    ],
  }));
  platform = await LocalPlatform.start();
  platform.ensureDevice('gateway', 'fixture-token');
  const port = await freePort();
  pageUrl = `http://127.0.0.1:${port}`;
  const configFile = join(folder, 'turnstone.yaml');
  const config = {
    version: 1,
    platform: { url: platform.url, accessToken: 'fixture-token' },
    stateFolder: join(folder, 'state'),
    runFolder: join(folder, 'run'),
    hardware: { board: 'simulated', boardSocket: board.socketPath },
    status: { page: 'loopback', port, pin: PIN, control: true },
    shutdown: { drain: '0s' },
    sensors: [{ name: 'room', kind: 'bme280', bus: 1, address: 0x76, period: '1s' }],
  };
  await writeFile(configFile, JSON.stringify(config), { mode: 0o600 });
  const machine = { ...thisMachine, logSink: { write: () => {} } };
  agent = await Agent.start({ configFile, environment: {}, machine }, stop.signal);
}, 60_000);

afterAll(async () => {
  stop.abort();
  await agent?.stopped;
  await platform?.close();
  await board?.close();
  await rm(folder, { recursive: true, force: true });
});

it('answers the control socket with a sensor to add, and the one that is there', async () => {
  const calls = await reachAgent({ runFolder: join(folder, 'run') }, fakeEdge());
  try {
    const { found, faults } = await calls.ask('findParts');
    expect(faults).toEqual([]);
    expect(found).toMatchObject([{ id: 'i2c-1-0x76', usedBy: 'room' }, FOUND]);
  } finally {
    await calls.close();
  }
});

it('answers the page with its PIN, and neither a viewer nor the platform', async () => {
  await vi.waitFor(() => fetch(pageUrl), { timeout: 20_000 });
  const response = await fetch(`${pageUrl}/api/operation`, {
    method: 'POST',
    headers: { authorization: `Bearer ${PIN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ operation: 'findParts', params: {} }),
  });
  expect(await response.json()).toMatchObject({ found: [{ usedBy: 'room' }, FOUND] });
  const viewer = await ControlClient.connect({ folder: join(folder, 'run'), access: 'read' });
  try {
    await expect(viewer.request('findParts', {})).rejects.toMatchObject({ code: 'control-socket/no-permission' });
  } finally {
    await viewer.close();
  }
  const person = await RestPerson.logIn(platform.url);
  const { id } = platform.ensureDevice('gateway', 'fixture-token');
  await vi.waitFor(async () => expect((await person.rpc(id, 'getStatus', {})).status).toBe(200), { timeout: 20_000 });
  expect((await person.rpc(id, 'findParts', {})).text).toContain('unknown-method');
});

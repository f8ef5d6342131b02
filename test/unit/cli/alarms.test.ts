import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { fakeEdge } from '../../support/fake-edge.ts';
import { socketOperations } from '../../support/socket-operations.ts';

let folder: string;
let server: ControlServer | undefined;
let asked: JsonObject[];

beforeEach(async () => {
  asked = [];
  folder = await mkdtemp(join(tmpdir(), 'turnstone-alarms-'));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

const ROOM = {
  sensor: 'cold-room',
  key: 'temperature',
  name: 'above 5',
  keyLabel: 'Cold room',
  unit: '°C',
  class: 'temperature',
  limit: 'above 5',
  value: 7.25,
  sinceMs: 40_000,
  moves: [],
};
const METER = {
  sensor: 'meter',
  key: 'voltage',
  device: 'meter-1',
  name: 'low',
  label: 'Mains is low',
  limit: 'below 207',
  unit: 'V',
  value: 201,
  sinceMs: 0,
  isFromStart: true,
  acknowledged: { by: 'page', atMs: 1_000_000 },
  moves: [],
};

async function run(words: readonly string[]) {
  const edge = fakeEdge();
  const exitCode = await runCommandLine(['alarms', ...words, '--run-folder', folder], { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

async function serve(alarms: readonly object[]): Promise<void> {
  const readMethods = { getStatus: () => ({ nowMs: 100_000, wallMs: 1_300_000, alarms }) as never };
  const methods = {
    acknowledgeAlarm: (params: JsonObject) => {
      asked.push(params);
      return [{ ...params, name: params.name ?? 'above 5', acknowledged: { by: 'local', atMs: 1 } }] as never;
    },
  };
  const deps = {
    ...socketOperations({ readMethods, methods }),
    folder,
    clock: systemClock,
    files: systemFiles,
    log: silentLog,
  };
  server = await ControlServer.open(deps, new AbortController().signal);
}

it('lists alarms with value, limit and time, and who has seen them', async () => {
  await serve([ROOM, METER]);
  const { exitCode, out } = await run([]);
  expect([exitCode, out.split('\n').map((line) => line.trimEnd())]).toEqual([
    EXIT.ok,
    [
      'KEY                 VALUE              LIMIT                     ON FOR           ACKNOWLEDGED',
      'temperature         Cold room: 7.3 °C  above 5                   1m               no',
      'voltage of meter-1  Voltage: 201 V     below 207 (Mains is low)  1m40s or longer  on the page, 5m ago',
      '',
    ],
  ]);
  expect(JSON.parse((await run(['list', '--json'])).out)).toEqual([ROOM, METER]);
});

it('says that none is on', async () => {
  await serve([]);
  expect(await run([])).toMatchObject({ exitCode: EXIT.ok, out: 'no alarm is on\n' });
});

it('acknowledges an alarm by its key, of the sensor that has it', async () => {
  await serve([ROOM, METER]);
  expect(await run(['acknowledge', 'temperature'])).toMatchObject({
    exitCode: EXIT.ok,
    out: 'temperature: above 5, acknowledged at the device\n',
  });
  await run(['acknowledge', 'voltage', '--name', 'low', '--device', 'meter-1']);
  expect(asked).toEqual([
    { sensor: 'cold-room', key: 'temperature' },
    { sensor: 'meter', key: 'voltage', name: 'low' },
  ]);
});

it('asks for the device where several have it, and refuses what is not on', async () => {
  await serve([ROOM, METER, { ...METER, sensor: 'meter2', device: 'meter-2' }]);
  const several = await run(['acknowledge', 'voltage']);
  expect(several.exitCode).toBe(EXIT.failure);
  expect(several.err).toContain('--device meter-1, --device meter-2');
  const none = await run(['acknowledge', 'temperature', '--device', 'meter-1']);
  expect([none.exitCode, none.err]).toEqual([
    EXIT.failure,
    expect.stringContaining('no alarm of temperature of meter-1 is on'),
  ]);
  expect(asked).toEqual([]);
  await run(['acknowledge', 'temperature', '--device', 'gateway']);
  expect(asked).toHaveLength(1);
});

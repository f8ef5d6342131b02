/** What the terminal shows of a sensor: key, unit and digits as the platform gets them, and a word where nothing has come. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sentBy } from '../../src/agent/own-commands.ts';
import { EXIT } from '../../src/cli/exit-code.ts';
import { runCommandLine } from '../../src/cli/frame/program.ts';
import { valueText } from '../../src/cli/value-text.ts';
import { sentReading } from '../../src/config/keys/sent-reading.ts';
import { readConfig } from '../../src/config/read-config.ts';
import { openLocalDoor } from '../../src/operations/local-door.ts';
import { operationsOn } from '../../src/operations/operation.ts';
import { SENSOR_OPERATIONS } from '../../src/operations/sensor-operations.ts';
import { PtyWire } from '../../src/stand-ins/simulated-board/serial-wire.ts';
import { sentSensors } from '../../src/status/status-of.ts';
import { fakeEdge } from '../support/fake-edge.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-terminal-'));
});
afterEach(() => rm(folder, { recursive: true }));

const TANK = 'keys: { raw: { rename: tankLevel, scale: 2, unit: m, round: 2 } }';

async function configured(sensor: string): Promise<string> {
  const file = join(folder, 'turnstone.yaml');
  const head = `version: 1\nplatform: { url: "https://example.org" }\nrunFolder: ${join(folder, 'run')}\nstateFolder: ${join(folder, 'state')}\n`;
  await writeFile(file, `${head}sensors: [{ name: tank, ${sensor} }]\n`, { mode: 0o600 });
  return file;
}

async function read(file: string) {
  const edge = fakeEdge();
  const words = ['sensors', 'read', 'tank', '--config', file, '--run-folder', join(folder, 'run')];
  const exitCode = await runCommandLine(words, { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

it.each([
  ['raw', TANK, '0.8249', 'tankLevel  1.65 m\n'],
  ['count', 'keys: { count: { unit: Wh } }', '12345678', 'count  12345678 Wh\n'],
  ['count', 'prefix: east_', '1234.56789', 'east_count  1234.56789\n'],
])('a reading of %s with %s is shown as it is sent', async (key, words, printed, shown) => {
  const file = await configured(
    `kind: command, program: /bin/echo, arguments: ["${printed}"], format: number, key: ${key}, ${words}`,
  );
  expect(await read(file)).toMatchObject({ out: shown, exitCode: EXIT.ok });
});

it('a running agent tells key, unit and digits of a reading as it sends them', async () => {
  const { config } = await readConfig(
    await configured(`kind: command, program: /bin/echo, format: number, key: raw, ${TANK}`),
    { environment: {} },
  );
  const sensors = config?.sensors ?? [];
  const reading = { key: 'raw', value: 1.653516, unit: 'V', atMs: 5 };
  const sent = { key: 'tankLevel', value: 1.65, unit: 'm', atMs: 5 };
  expect(sentReading(sensors[0], reading)).toEqual(sent);
  expect(sentReading(undefined, reading)).toEqual(reading);
  const told = sentSensors([{ name: 'tank', kind: 'command', state: 'ok', readings: [reading] }], sensors);
  expect(told[0]?.readings).toEqual([sent]);
  const sample = { ...reading, sensor: 'tank', bootId: 'b', monotonicMs: 5 };
  const operations = operationsOn(SENSOR_OPERATIONS, {
    readNow: async () => [sample],
    asSent: sentBy(() => ({ sensors })),
  });
  const { ask } = openLocalDoor('site', { operations, locked: () => false, tell: () => {} });
  const answer = await ask('readSensor', { name: 'tank' }, new AbortController().signal);
  expect(answer).toMatchObject([{ key: 'tankLevel', value: 1.65, unit: 'm' }]);
});

it.each([
  [12_345_678, '12345678'],
  [1_234_567.891, '1234567.891'],
  [0.1, '0.1'],
  [2n ** 60n, '1152921504606846976'],
])('the number %s keeps its digits', (value, shown) => {
  expect(valueText(value)).toBe(shown);
});

it('a sensor that speaks by itself is waited for', async () => {
  const port = join(folder, 'port');
  const wire = new PtyWire(port, () => {});
  const file = await configured(
    `kind: serial-line, port: ${port}, format: number, key: raw, period: 5s, deadline: 5s, ${TANK}`,
  );
  const speaking = setInterval(() => wire.send(Buffer.from('0.8249\n')), 50);
  try {
    expect(await read(file)).toMatchObject({ out: 'tankLevel  1.65 m\n', exitCode: EXIT.ok });
  } finally {
    clearInterval(speaking);
    wire.close();
  }
});

it('a sensor that says nothing by itself is told, and the command fails', async () => {
  const port = join(folder, 'port');
  const wire = new PtyWire(port, () => {});
  const file = await configured(`kind: serial-line, port: ${port}, format: number, period: 1s, deadline: 500ms`);
  try {
    const { exitCode, err } = await read(file);
    expect(exitCode).not.toBe(EXIT.ok);
    expect(err).toMatch(/tank speaks by itself, and no reading has come from it yet/);
  } finally {
    wire.close();
  }
});

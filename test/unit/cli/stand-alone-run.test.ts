/** A configuration of a site, run by itself: what lies beside it counts as before, and its faults are those of its own file. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openStandAloneRun, type StandAloneRun } from '../../../src/cli/stand-alone-run.ts';

const MODEL = `
maker: Own
models:
  own-meter:
    title: Own
    registers: { power: { address: 7, scale: 0.1 } }
`;
const PRESET = `
title: Own scale
sensor: { baudRate: 4800, format: number }
`;
const SITE = `version: 1\nplatform: { url: "https://iot.example.org", accessToken: "\${TOKEN}" }\nsensors:\n`;
const METER =
  '  - { name: meter, kind: modbus, model: own-meter, connection: { transport: tcp, host: meters.local } }\n';
const SCALE = '  - { name: scale, kind: serial-line, preset: own-scale, port: /dev/ttyUSB0 }\n';
let folder: string;
let file: string;
let run: StandAloneRun | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-site-'));
  file = join(folder, 'gateway.yaml');
  await mkdir(join(folder, 'models'));
  await writeFile(join(folder, 'models/own.yaml'), MODEL);
  await mkdir(join(folder, 'presets'));
  await writeFile(join(folder, 'presets/own-scale.yaml'), PRESET);
  await writeFile(file, SITE + METER + SCALE, { mode: 0o600 });
  run = undefined;
});
afterEach(async () => {
  await run?.close();
  await rm(folder, { recursive: true });
});

async function open(): Promise<StandAloneRun> {
  run = await openStandAloneRun(file, {});
  return run;
}

it('takes models and presets of the folders beside the file, and leaves them there', async () => {
  const { loadConfig, platformUrl, close } = await open();
  const { config } = await loadConfig(file, { environment: {} });
  expect(config.platform.url).toBe(platformUrl);
  expect(config.sensors).toMatchObject([{ registers: { power: { address: 7, scale: 0.1 } } }, { baudRate: 4800 }]);
  await close();
  expect([await readdir(join(folder, 'models')), await readdir(join(folder, 'presets'))]).toEqual([
    ['own.yaml'],
    ['own-scale.yaml'],
  ]);
});

it('takes up what a person changes in the file while it runs', async () => {
  const { loadConfig, platformUrl } = await open();
  await writeFile(file, SITE + SCALE);
  const { config } = await loadConfig(file, { environment: {} });
  expect(config.sensors.map(({ name }) => name)).toEqual(['scale']);
  expect(config.platform.url).toBe(platformUrl);
});

it('tells a fault of the file by its own name and line', async () => {
  const { loadConfig } = await open();
  await writeFile(file, `# written anew\n${SITE}${METER.replace('tcp', 'tpc')}`);
  await expect(loadConfig(file, { environment: {} })).rejects.toThrow(`${file}:5:`);
});

it('tells a fault of a model with the file in the folder of the person', async () => {
  const { loadConfig } = await open();
  await writeFile(join(folder, 'models/own.yaml'), MODEL.replace('address: 7', 'adress: 7'));
  await expect(loadConfig(file, { environment: {} })).rejects.toThrow(join(folder, 'models/own.yaml'));
});

/** Classes that models, presets and registers give to their keys. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { namesOfReading } from '../../../src/config/keys/sensor-keys.ts';
import { loadConfig } from '../../../src/config/read-config.ts';

/** Class of a reading of the only sensor in a configuration. */
async function classOf(sensor: string, key: string, unit?: string): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-classes-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, `version: 1\nplatform: { url: "https://iot.example.org" }\nsensors: [${sensor}]\n`, {
    mode: 0o600,
  });
  const [config] = (await loadConfig(file, { environment: {} })).sensors;
  return config && namesOfReading(config, { key, unit }).class;
}

const RELAYS = 'name: relays, kind: modbus, model: kmtronic-4-relays, connection: { transport: tcp, host: board }';
const METER = 'name: meter, kind: modbus, connection: { transport: tcp, host: board }';

it.each([
  ['a model', `{ ${RELAYS} }`, 'relay1', undefined, 'switch'],
  [
    'a model, over it the sensor’s own',
    `{ ${RELAYS}, keys: { relay1: { class: pump } } }`,
    'relay1',
    undefined,
    'pump',
  ],
  ['a model, beside a limit of all keys', `{ ${RELAYS}, keys: { "*": { round: 1 } } }`, 'relay1', undefined, 'switch'],
  [
    'a preset',
    '{ name: bms, kind: serial-line, preset: jbd-bms, port: /dev/ttyS0 }',
    'batteryCycles',
    undefined,
    'count',
  ],
  ['a register', `{ ${METER}, registers: { fill: { address: 0, class: level } } }`, 'fill', '%', 'level'],
  ['unit and key', `{ ${METER}, registers: { fill: { address: 0 } } }`, 'fill', '%', 'percent'],
])('takes the class of %s', async (_what, sensor, key, unit, name) => {
  expect(await classOf(sensor, key, unit)).toBe(name);
});

/** Texts of digits: the platform makes numbers of them, unless they are sent in a form that it keeps. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { rulesOfReading } from '../../src/config/keys/sensor-keys.ts';
import { sentReading } from '../../src/config/keys/sent-reading.ts';
import { readConfig } from '../../src/config/read-config.ts';
import { DeadbandRules } from '../../src/telemetry/deadband-rules.ts';
import type { JsonValue } from '../../src/values/json.ts';
import { SMALLEST } from '../support/config-file.ts';
import { FakeClock } from '../support/fake-clock.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-texts-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function read(sensor: string) {
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, `${SMALLEST}sensors:\n  - { name: meter, ${sensor} }\n`, { mode: 0o600 });
  const { config, faults, warnings } = await readConfig(file, { environment: {} });
  expect(faults).toEqual([]);
  const [meter] = config?.sensors ?? [];
  if (meter === undefined) throw new Error('no sensor');
  return { meter, warnings };
}

const LINE = 'kind: serial-line, port: /dev/ttyUSB0';
const INDICATOR = `${LINE}, format: csv, columns: [serial, weight]`;
const SUNSPEC = 'kind: sunspec, connection: { transport: tcp, host: h }';
const MODBUS = 'kind: modbus, connection: { transport: tcp, host: h }';

it.each([
  [`${INDICATOR}, keys: { serial: { type: text } }`, 'sensors[0].keys.serial.type'],
  ['kind: command, program: /bin/true, keys: { "*": { type: text } }', 'sensors[0].keys.*.type'],
  [`${MODBUS}, registers: { serial: { address: 4, type: string, length: 6 } }`, 'sensors[0].name'],
  ['kind: mbus, port: /dev/ttyUSB0, address: 5', 'sensors[0].name'],
  [SUNSPEC, 'sensors[0].name'],
  [`${SUNSPEC}, blocks: [1, 203]`, 'sensors[0].name'],
])('check-config warns of a text that becomes a number: %s', async (sensor, path) => {
  expect((await read(sensor)).warnings).toContainEqual(expect.objectContaining({ path, problem: TEXT_PROBLEM }));
});
const TEXT_PROBLEM = 'the platform makes 123 of the text "000123" in';

it.each([
  `${INDICATOR}, keys: { serial: { type: text, asText: json } }`,
  `${INDICATOR}, keys: { serial: { type: text, report: false } }`,
  `${INDICATOR}, keys: { serial: { type: text, map: { "0": good, "1": bad } } }`,
  `${MODBUS}, registers: { serial: { address: 4, type: string, length: 6 } }, keys: { serial: { asText: { prefix: "No " } } }`,
  `${SUNSPEC}, keys: { serialNumber: { asText: json } }`,
  `${SUNSPEC}, blocks: [103]`,
  `${LINE}, preset: ups-megatec`,
  `${LINE}, preset: rflink`,
  `${LINE}, preset: windsonic`,
])('check-config is silent of a text that stays one: %s', async (sensor) => {
  expect((await read(sensor)).warnings).not.toContainEqual(expect.objectContaining({ problem: TEXT_PROBLEM }));
});

it.each<[string, JsonValue, JsonValue]>([
  ['json', '000123', { text: '000123' }],
  ['json', '', { text: '' }],
  ['{ prefix: "No " }', '000123', 'No 000123'],
  ['{ prefix: "#" }', 'AB-7', '#AB-7'],
  ['json', 12.5, 12.5],
  ['{ prefix: b }', true, true],
])('asText: %s sends %j as %j, and rules see what came', async (asText, came, sent) => {
  const { meter } = await read(`${INDICATOR}, keys: { serial: { asText: ${asText} } }`);
  const told: JsonValue[] = [];
  const seen: JsonValue[] = [];
  const clock = new FakeClock();
  const rules = new DeadbandRules({
    clock,
    rulesFor: (_, key) => rulesOfReading(meter, key),
    observe: ({ value }) => seen.push(value),
    report: (entries) => told.push(...entries.map(({ value }) => value)),
  });
  const sample = { sensor: 'meter', key: 'serial', value: came, bootId: clock.bootId, monotonicMs: 0 };
  rules.take([sample]);
  expect(told).toEqual([sent]);
  expect(seen).toEqual([came]);
  expect(sentReading(meter, { key: 'serial', value: came }).value).toEqual(sent);
  rules.take([{ ...sample, monotonicMs: 1_000 }]);
  expect(told).toEqual([sent, sent]);
});

it('a UPS sends its state as bits, and not as the number 1001', async () => {
  const { meter } = await read(`${LINE}, preset: ups-megatec`);
  expect(sentReading(meter, { key: 'state', value: '00001001' }).value).toBe('b00001001');
});

it.each(['"12"', '"-"', '" "', '""', '"+1."'])(
  'refuses the prefix %s, behind which a text is still a number',
  async (prefix) => {
    const file = join(folder, 'turnstone.yaml');
    const sensor = `{ name: m, ${INDICATOR}, keys: { serial: { asText: { prefix: ${prefix} } } } }`;
    await writeFile(file, `${SMALLEST}sensors:\n  - ${sensor}\n`, { mode: 0o600 });
    expect((await readConfig(file, { environment: {} })).faults[0]?.path).toMatch(
      /^sensors\[0\]\.keys\.serial\.asText/,
    );
  },
);

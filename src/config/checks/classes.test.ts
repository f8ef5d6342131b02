/** Classes and labels in a configuration. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { faultLine } from '../fields/config-fault.ts';
import { readConfig } from '../read-config.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-classes-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function read(lines: string) {
  const file = join(folder, 'turnstone.yaml');
  const head = 'version: 1\nplatform: { url: "https://example.org", accessToken: gateway-token }\n';
  await writeFile(file, `${head}${lines}\n`, { mode: 0o600 });
  const { faults, warnings } = await readConfig(file, { environment: {} });
  const told = (all: typeof faults) => all.map((fault) => faultLine('f', fault).replace(/^f:\d+:\d+: /, ''));
  return { wrong: told(faults), warned: told(warnings) };
}

const door = (words: string) => `sensors: [{ name: door, kind: gpio-input, line: 17, ${words} }]`;

it('takes labels with any sign of any language, and known classes', async () => {
  expect(
    await read(`label: "Kühlhaus <1>"
${door('label: Tür, class: door, keys: { state: { label: "扉 & gate", class: window } }')}
actuators: [{ name: pump, kind: gpio-output, line: 5, label: Pump, class: pump }]
rules: [{ name: r, label: Drain, when: { sensor: door, key: state, equal: on }, set: { actuator: pump, value: on } }]`),
  ).toEqual({ wrong: [], warned: [] });
});

it('refuses a label without a sign, with too many, or with control characters', async () => {
  for (const label of ['""', `"${'x'.repeat(65)}"`, '"a\\nb"'])
    expect((await read(door(`label: ${label}`))).wrong).toEqual([
      expect.stringContaining('expected a label of 1 to 64 characters, without control characters'),
    ]);
});

it('refuses what is no class, hints at the nearest one, and leaves other words to their user', async () => {
  expect((await read(door('class: Door'))).wrong).toEqual([
    expect.stringContaining('expected a class: a small letter'),
  ]);
  expect(await read(door('keys: { state: { class: dor } }'))).toEqual({
    wrong: [],
    warned: [expect.stringMatching(/^sensors\[0\]\.keys\.state\.class: unknown class "dor".*did you mean "door"\?/)],
  });
  expect(await read(door('class: cat_flap'))).toEqual({ wrong: [], warned: [] });
});

it('refuses a class of a sensor with several keys', async () => {
  expect((await read('sensors: [{ name: roof, kind: sht3x, class: temperature }]')).wrong).toEqual([
    expect.stringMatching(/^sensors\[0\]\.class: one class for 2 values: .*class under keys/),
  ]);
});

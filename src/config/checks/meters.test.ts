/** Several meters of which only their telegrams say what they give, keys as a grid operator writes them, and bytes in the wrong quotes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { faultLine } from '../fields/config-fault.ts';
import { readConfig } from '../read-config.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-meters-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function read(lines: string) {
  const file = join(folder, 'turnstone.yaml');
  const head = 'version: 1\nplatform: { url: "https://example.org", accessToken: gateway-token }\n';
  await writeFile(file, `${head}${lines}\n`, { mode: 0o600 });
  const { config, faults, warnings } = await readConfig(file, { environment: {} });
  const told = (all: typeof faults) => all.map((fault) => faultLine('f', fault).replace(/^f:\d+:\d+: /, ''));
  return { config, wrong: told(faults), warned: told(warnings).filter((line) => !line.includes('serialNumber')) };
}

const meter = (name: string, kind: string, more = '') =>
  `  - { name: ${name}, kind: ${kind}, port: /dev/${name}${more} }`;

it.each([
  [['dlms'], ['dlms'], /sensors\[1\]\.name: two sensors may give one key: "\w+", expected .*one may give it too/],
  [['sml'], ['dlms'], /two sensors may give one key/],
  [['sml'], ['serial-line', ', preset: dsmr'], /two sensors may give one key: "\w+"/],
  [['mbus', ', address: 1'], ['mbus', ', address: 2'], /two sensors may give one key: all that a mbus meter tells/],
] as const)('warns of %j beside %j without a prefix', async ([kind, more], [other, others], words) => {
  const both = await read(`sensors:\n${meter('one', kind, more)}\n${meter('two', other, others)}`);
  expect(both.wrong).toEqual([]);
  expect(both.warned).toEqual([expect.stringMatching(words)]);
  const apart = await read(
    `sensors:\n${meter('one', kind, more)}\n${meter('two', other, `${others ?? ''}, prefix: two_`)}`,
  );
  expect([apart.wrong, apart.warned]).toEqual([[], []]);
});

it.each(['00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f', '00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F'])(
  'takes the key %s',
  async (key) => {
    expect((await read(`sensors:\n${meter('one', 'dlms', `, key: "${key}"`)}`)).wrong).toEqual([]);
    const [wrong] = (await read(`sensors:\n${meter('one', 'dlms', `, key: "${key.slice(3)}"`)}`)).wrong;
    expect(wrong).toMatch(/expected 32 hexadecimal digits, with blanks or colons between them or without/);
  },
);

it('refuses bytes in single quotes, in which a backslash stands for itself', async () => {
  const scale = (request: string) =>
    `sensors:\n${meter('scale', 'serial-line', `, format: number, request: ${request}`)}`;
  expect((await read(scale(String.raw`"S\r\n"`))).wrong).toEqual([]);
  expect((await read(scale(String.raw`'S\r\n'`))).wrong).toEqual([
    expect.stringMatching(/sensors\[0\]\.request.*with \\r and \\xFF in double quotes; requestHex takes any bytes/),
  ]);
});

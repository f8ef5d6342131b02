/** Slips of a technician's keyboard: each gets the hint that cures it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../../src/config/read-config.ts';
import { SMALLEST } from '../../support/config-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-slips-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function said(yaml: string) {
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, yaml, { mode: 0o600 });
  return await readConfig(file, { environment: {} });
}

const period = (text: string): string => `${SMALLEST}sensors: [{ name: a, kind: host, period: "${text}" }]\n`;

it.each([
  ['10 s', '10s'],
  ['5min', '5m'],
  ['1,5h', '1.5h'],
  ['90 minutes', '90m'],
  ['12 hours', '12h'],
  ['1 day', '1d'],
  ['10\u00a0s', '10s'],
])('a duration %j was meant as %j', async (written, meant) => {
  const { faults } = await said(period(written));
  expect(faults).toEqual([expect.objectContaining({ path: 'sensors[0].period', hint: `did you mean "${meant}"?` })]);
});

it.each([
  ['0X18', '0x18'],
  ['"0X48"', '0x48'],
])('an address %s was meant as %s', async (written, meant) => {
  const { faults } = await said(`${SMALLEST}sensors: [{ name: a, kind: lm75, bus: 1, address: ${written} }]\n`);
  expect(faults[0]?.path).toBe('sensors[0].address');
  expect(faults[0]?.hint).toBe(`did you mean ${meant}, without quotes?`);
});

it('a number with a decimal comma or another minus gets the number', async () => {
  const limit = (value: string): string =>
    `${SMALLEST}sensors: [{ name: a, kind: lm75, bus: 1, address: 72, keys: { temperature: { alarms: [{ above: ${value} }] } } }]\n`;
  for (const [written, meant] of [
    ['"21,5"', '21.5'],
    ['\u22125', '-5'],
    ['\u20135', '-5'],
  ] as const)
    expect((await said(limit(written))).faults[0]?.hint).toBe(`did you mean ${meant}?`);
});

it('a merge key without a mapping gets what belongs there', async () => {
  const { faults } = await said(`${SMALLEST}sensors: [{ name: a, kind: host, <<: 10s }]\n`);
  expect(faults).toEqual([expect.objectContaining({ expected: expect.stringContaining('<<: *meter') })]);
});

it('a byte order mark before a token is no part of it', async () => {
  const token = join(folder, 'token');
  await writeFile(token, '\ufefffixture-token\r\n', { mode: 0o600 });
  const { config } = await said(`version: 1\nplatform: { url: "https://example.org", accessTokenFile: ${token} }\n`);
  expect(config?.platform.accessToken?.reveal()).toBe('fixture-token');
});

it.each(['user:p@ss@proxy', 'user:p#ss@proxy', 'user:12#34@proxy', 'user:p/ss@proxy', 'user:p:ss@proxy'])(
  'a proxy’s password with a sign of its own is refused, and nothing of it is shown: %s',
  async (login) => {
    const { faults, warnings } = await said(
      `version: 1\nplatform: { url: "https://example.org", accessToken: fixture-token, proxy: "http://${login}:3128" }\n`,
    );
    expect(faults).toEqual([
      expect.objectContaining({ path: 'platform.proxy', expected: expect.stringContaining('@ is written %40, # %23') }),
    ]);
    expect(JSON.stringify([faults, warnings])).not.toMatch(/p@ss|p#ss|12#34|p\/ss|p:ss|user/);
  },
);

it.each(['user:p%40ss@proxy', 'proxy'])('a proxy’s address %s is taken', async (host) => {
  const { faults } = await said(
    `version: 1\nplatform: { url: "https://example.org", accessToken: fixture-token, proxy: "http://${host}:3128" }\n`,
  );
  expect(faults).toEqual([]);
});

it('the platform’s address with the path of a page is refused, and with another one it is a prefix that is said to be one', async () => {
  const of = async (url: string) => await said(`version: 1\nplatform: { url: "${url}", accessToken: fixture-token }\n`);
  for (const path of ['/dashboards/all', '/api/v1/x/telemetry', '/login'])
    expect((await of(`https://example.org${path}`)).faults).toEqual([
      expect.objectContaining({ path: 'platform.url', expected: 'scheme, host and port of the platform alone' }),
    ]);
  const { faults, warnings } = await of('https://example.org/iot');
  expect([faults, warnings]).toEqual([
    [],
    [expect.objectContaining({ problem: 'every request goes below the path of' })],
  ]);
  expect(await of('https://example.org/')).toMatchObject({ faults: [], warnings: [] });
});

/** Files that want to be expensive: whatever is in a megabyte, it is answered at once, with a few faults and few words. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultLine } from '../../../src/config/fields/config-fault.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { SMALLEST } from '../../support/config-file.ts';
import { EXPENSIVE, manySensors } from '../../support/expensive-configurations.ts';

/** Processor time in relation to that of an ordinary, right file of a thousand sensors, read in the same run. */
const MAX_TIMES_ORDINARY = 6;
/** Processor time of ten times as much in relation to ten times that of one: a check whose cost grew with the square would take 10. */
const MAX_TIMES_PARTS = 3;
/** Length of all messages together: a hundred, each with what was written and what it might have been. */
const MAX_ANSWER_LENGTH = 64 * 1024;

let folder: string;
let ordinaryMs: number;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-costs-'));
  ordinaryMs = (await check(`${SMALLEST}${manySensors(1_000)}`)).cpuMs;
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Processor time of ten texts, one after the other. */
async function tenTimesMs(text: string): Promise<number> {
  let sumMs = 0;
  for (let time = 0; time < 10; time += 1) sumMs += (await check(text)).cpuMs;
  return sumMs;
}

async function check(text: string) {
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, text);
  const before = process.cpuUsage();
  const result = await readConfig(file, { environment: { LONG: 'x'.repeat(100_000) } });
  const { user, system } = process.cpuUsage(before);
  return { ...result, cpuMs: (user + system) / 1_000 };
}

describe('a file under one megabyte', () => {
  it.each(Object.entries(EXPENSIVE))(
    'of %s costs little more than a right one, and is answered in few words',
    async (_what, make) => {
      const text = make();
      expect(Buffer.byteLength(text)).toBeLessThan(1_000_000);
      const { faults, cpuMs } = await check(text);
      expect(faults.length).toBeGreaterThan(0);
      expect(faults.map((fault) => faultLine('x', fault)).join('\n').length).toBeLessThan(MAX_ANSWER_LENGTH);
      expect(cpuMs / ordinaryMs).toBeLessThan(MAX_TIMES_ORDINARY);
    },
    60_000,
  );

  it('may name a thousand sensors', async () => {
    const { config, faults, cpuMs } = await check(`${SMALLEST}${manySensors(1_000)}`);
    expect(faults).toEqual([]);
    expect(config?.sensors).toHaveLength(1_000);
    expect(cpuMs / (await tenTimesMs(`${SMALLEST}${manySensors(100)}`))).toBeLessThan(MAX_TIMES_PARTS);
  }, 60_000);

  it('may have a thousand devices, each with a sensor and a serial number', async () => {
    const meter = 'kind: modbus, connection: { transport: tcp, host: "h{n}" }, registers: { id: { address: 0 } }';
    const text = (count: number): string =>
      `${SMALLEST}provisioning: { deviceKey: k, deviceSecret: s }\n` +
      `devices: [{ count: ${count}, name: "d{n}", serialNumber: { key: id, pattern: "[0-9]+" } }]\n` +
      `sensors: [{ count: ${count}, name: "s{n}", device: "d{n}", ${meter} }]\n`;
    const { config, faults, cpuMs } = await check(text(1_000));
    expect(faults).toEqual([]);
    expect(config?.devices.at(-1)?.serialNumber?.sensor).toBe('s1000');
    expect(cpuMs / (await tenTimesMs(text(100)))).toBeLessThan(MAX_TIMES_PARTS);
  }, 60_000);

  it.each([
    ['sensors', 1_000, (index: number) => `  - { name: s${index}, kind: host, keys: { "*": { report: false } } }\n`],
    [
      'actuators',
      500,
      (index: number) => `  - { name: a${index}, kind: gpio-output, line: { chip: gpiochip0, offset: ${index} } }\n`,
    ],
    ['devices', 1_000, (index: number) => `  - { name: d${index}, accessToken: t${index} }\n`],
    [
      'rules',
      500,
      (index: number) =>
        `  - { name: r${index}, when: { sensor: s, key: state, equal: on }, set: { actuator: a, value: on } }\n`,
    ],
  ])('has so many %s and no more: %i', async (name, most, item) => {
    const others =
      name === 'rules'
        ? 'sensors: [{ name: s, kind: gpio-input, line: 1 }]\nactuators: [{ name: a, kind: gpio-output, line: 2 }]\n'
        : '';
    const text = (count: number): string =>
      `${SMALLEST}${others}${name}:\n${Array.from({ length: count }, (_, index) => item(index)).join('')}`;
    expect((await check(text(most))).faults).toEqual([]);
    expect((await check(text(most + 1))).faults).toEqual([
      expect.objectContaining({ path: name, problem: `${most + 1} ${name}`, expected: `at most ${most}` }),
    ]);
  });

  it('tells the first hundred faults, and that there are more', async () => {
    const { faults } = await check(
      `${SMALLEST}${Array.from({ length: 150 }, (_, index) => `unknown${index}: 1\n`).join('')}`,
    );
    expect(faults).toHaveLength(101);
    expect(faults.slice(0, 100).map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, index) => index + 3));
    expect(faults.at(-1)).toMatchObject({ problem: 'there is more' });
  });
});

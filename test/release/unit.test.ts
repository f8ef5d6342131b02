/** Exposure of the service's unit, as systemd measures it, without and with each of its drop-ins. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const FOLDER = resolve(import.meta.dirname, '../../systemd');
let out: string;
beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'turnstone-unit-'));
});
afterAll(() => rm(out, { recursive: true }));

describe('the unit', () => {
  const unitOf = async (): Promise<string> => await readFile(join(FOLDER, 'turnstone.service'), 'utf8');
  const dropInsOf = async (): Promise<readonly string[]> =>
    (await readdir(FOLDER)).filter((name) => name.endsWith('.conf')).sort();
  const exposureWith = async (name: string, settings: string): Promise<number> => {
    const file = join(out, `${name}.service`);
    await writeFile(file, (await unitOf()).replace('[Install]', `${settings}\n[Install]`));
    const { stdout } = await run('systemd-analyze', ['security', '--offline=true', file]);
    return Number(/exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]);
  };

  it('is exposed by at most 1.5', async () => {
    expect(await exposureWith('turnstone', '')).toBeLessThanOrEqual(1.5);
  });

  it('is exposed with each drop-in as its comment says', async () => {
    const names = await dropInsOf();
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) {
      const text = await readFile(join(FOLDER, name), 'utf8');
      const said = Number(/Exposure ([\d.]+),/.exec(text)?.[1]);
      expect(await exposureWith(name, text.slice(text.indexOf('[Service]\n') + 10)), name).toBe(said);
    }
  });

  it('keeps what a drop-in opens when narrow-devices has named the devices', async () => {
    for (const name of await dropInsOf()) expect(name > 'devices.conf', name).toBe(true);
  });
});

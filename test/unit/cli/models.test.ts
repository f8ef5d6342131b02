/** `turnstone models`: what is known, and from where. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-models-'));
  await mkdir(join(folder, 'models'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function models(...words: readonly string[]) {
  const edge = fakeEdge();
  const exitCode = await runCommandLine(['models', '--config', join(folder, 'turnstone.yaml'), ...words], {
    edge,
    version: () => '1',
  });
  return { exitCode, out: edge.out(), err: edge.err() };
}

describe('turnstone models', () => {
  it('lists every model with its device, its keys and how it is verified', async () => {
    const { exitCode, out } = await models();
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toMatch(/^eastron-sdm72 +Eastron SDM72D-M +4 +two-sources$/m);
  });

  it('tells programs keys, registers and sources', async () => {
    const { out } = await models('--json');
    const all = JSON.parse(out) as readonly { readonly name: string }[];
    expect(all.find(({ name }) => name === 'pzem-017')).toMatchObject({
      maker: 'Peacefair',
      verified: 'two-sources',
      isOwn: false,
      keys: ['energyImport', 'dcVoltage', 'dcCurrent', 'dcPower'],
      registers: { dcPower: { address: 2, type: 'uint32', wordOrder: 'little', scale: 0.1, unit: 'W' } },
      sources: [{ repository: 'esphome/esphome' }, { repository: 'arendst/Tasmota' }],
    });
  });

  it('shows one, and names the nearest of one that is not known', async () => {
    expect((await models('abb-b23')).out).toMatch(/^energyImport +kWh +holding +20480 +uint64/m);
    expect(await models('abb-b3')).toMatchObject({
      exitCode: EXIT.usage,
      err: expect.stringContaining('did you mean "abb-b23"?'),
    });
  });

  it('lists a person’s own in place of what is shipped, and says which file is wrong', async () => {
    await writeFile(
      join(folder, 'models/pzem-017.yaml'),
      'maker: Me\nmodels: { pzem-017: { title: mine, registers: { level: { address: 1 } } } }\n',
    );
    await writeFile(
      join(folder, 'models/bad.yaml'),
      'maker: Me\nmodels: { bad: { title: x, registers: { level: { adress: 1 } } } }\n',
    );
    const { exitCode, out, err } = await models();
    expect(out).toMatch(/^pzem-017 +Me mine +1 +your own$/m);
    expect(err).toMatch(/bad\.yaml: bad: registers\.level.*address/);
    expect(exitCode).toBe(EXIT.failure);
  });

  it('lists every preset with its device, its keys and its fixture', async () => {
    const { out } = await models();
    expect(out).toMatch(/^vedirect-mppt +Victron MPPT solar charger.* +11 +recorded$/m);
    expect(out).toMatch(/^scale-and .* +3 +worked example$/m);
    expect((await models('dsmr')).out).toMatch(/^powerImport +W$/m);
    expect(await models('vedirect-mpp')).toMatchObject({
      exitCode: EXIT.usage,
      err: expect.stringContaining('did you mean "vedirect-mppt"?'),
    });
  });

  it('tells programs the keys, units, source and fixture of presets', async () => {
    const all = JSON.parse((await models('--json')).out) as readonly { readonly kind: string; readonly name: string }[];
    const presets = all.filter(({ kind }) => kind === 'serial-line');
    expect(presets.length).toBeGreaterThanOrEqual(18);
    for (const preset of presets)
      expect(preset).toMatchObject({
        source: expect.stringMatching(/./),
        fixture: expect.stringMatching(/^(recorded|worked example)$/),
      });
    expect(presets.find(({ name }) => name === 'sds011')).toMatchObject({
      title: 'Nova SDS011, particulate matter',
      isOwn: false,
      fixture: 'recorded',
      keys: ['pm2_5', 'pm10'],
      units: { pm2_5: 'µg/m³', pm10: 'µg/m³' },
      source: expect.stringContaining('esphome/esphome'),
    });
  });

  it('lists a person’s own preset in place of what is shipped, and says which file is none', async () => {
    await mkdir(join(folder, 'presets'));
    await writeFile(join(folder, 'presets/sds011.yaml'), 'title: mine\nsensor: { format: number, key: level }\n');
    await writeFile(join(folder, 'presets/tank.yaml'), 'title: Tank\nsensor: { baudrate: 1200 }\n');
    const { exitCode, out, err } = await models();
    expect(out).toMatch(/^sds011 +mine +1 +your own$/m);
    expect(err).toMatch(/tank\.yaml: no preset/);
    expect(exitCode).toBe(EXIT.failure);
  });
});

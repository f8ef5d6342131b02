import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../config/read-config.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { expectSimulatedDevice, isRealFromNowOn } from './simulated-run.ts';

async function given(url: string, { token = false, identity = false, device = false, outbox = false } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-simulated-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const stateFolder = join(folder, 'state');
  await mkdir(stateFolder);
  if (identity) await writeFile(join(stateFolder, 'credentials.backup.json'), '{}');
  if (outbox) await mkdir(join(stateFolder, 'outbox'));
  const own = token ? ', accessToken: a-real-token' : '';
  const devices = device ? '\ndevices: [{ name: meter, accessToken: a-token-of-it }]' : '';
  const file = join(folder, 'turnstone.yaml');
  const text = `version: 1\nplatform: { url: "${url}"${own} }${devices}\nstateFolder: ${stateFolder}\nrunFolder: ${folder}/run\n`;
  await writeFile(file, text, { mode: 0o600 });
  const config = await loadConfig(file, { environment: {} });
  const told: string[] = [];
  const run = (isMeant = false) =>
    expectSimulatedDevice(config, systemFiles, { isMeant, warn: (line) => told.push(line) });
  const runForReal = () =>
    isRealFromNowOn(stateFolder, { files: systemFiles, clock: systemClock, tell: (line) => told.push(line) });
  return { run, runForReal, told, stateFolder };
}

const ELSEWHERE = 'https://iot.example.org';

describe('a simulated run', () => {
  it.each(['http://localhost:8080', 'http://127.0.0.1:9090', 'http://[::1]:1', 'http://turnstone.localhost'])(
    'is free at %s',
    async (url) => {
      const { run, told, stateFolder } = await given(url, { token: true });
      await run();
      expect([told, await readdir(stateFolder)]).toEqual([[], ['simulated']]);
    },
  );

  it.each([
    [{ token: true }, 'the configuration has its access token'],
    [{ token: true, device: true }, 'the configuration has its access token'],
    [{ device: true }, 'the configuration has the access token of meter'],
    [{ identity: true }, 'holds the identity of one'],
    [{ outbox: true }, 'holds the readings of one'],
    [{}, 'it would be made at iot.example.org'],
  ])('is refused as a real device, with %j', async (has, says) => {
    const { run, told } = await given(ELSEWHERE, has);
    await expect(run()).rejects.toThrow(says);
    await expect(run()).rejects.toThrow('--send-simulated');
    expect(told).toEqual([]);
    await run(true);
    expect(told.join('')).toContain(`invented readings reach a real device: `);
  });

  it.each([{ identity: true }, { outbox: true }])(
    'puts nothing beside what a real run sends, at a local platform either, with %j',
    async (has) => {
      const { run } = await given('http://localhost:8080', has);
      await expect(run()).rejects.toThrow('--send-simulated');
    },
  );

  it('may become a device of its own, and be that again until a real board has been it', async () => {
    const { run, stateFolder, runForReal } = await given(ELSEWHERE);
    await run(true);
    await writeFile(join(stateFolder, 'credentials.json'), '{}');
    await run();
    await runForReal();
    await expect(run()).rejects.toThrow('holds the identity of one');
  });

  it('leaves a real run nothing to send', async () => {
    const { run, stateFolder, runForReal, told } = await given('http://localhost:8080');
    await run();
    await mkdir(join(stateFolder, 'outbox'));
    await runForReal();
    expect((await readdir(stateFolder)).filter((name) => /outbox|simulated/.test(name))).toEqual([
      'outbox-of-former-device',
    ]);
    expect(told.join('')).toContain('is not sent');
  });

  it.each(['http://localhost.example.org', 'http://127.example.org', 'http://10.0.0.5'])(
    'takes %s for a platform elsewhere',
    async (url) => {
      const { run } = await given(url, { token: true });
      await expect(run()).rejects.toThrow('real device');
    },
  );
});

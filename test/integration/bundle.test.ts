/** Bundle of a release, which runs instead of the sources: its native modules must load with the names by which they are used. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildBundle, bundleFile, ownNativeModules, ROOT } from '../../scripts/bundle.ts';

const run = promisify(execFile);
let folder: string;
let main: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-bundle-'));
  await buildBundle(ownNativeModules(), { target: join(folder, 'bundle') });
  main = join(folder, 'bundle/main.mjs');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the bundle', () => {
  it('loads every native module with what is used of it', async () => {
    const { stderr } = await run(process.execPath, [main, 'firmware', 'self-test']);
    expect(stderr).toBe('');
  });

  it('reads a device over HTTP, packed as some servers do unasked', async () => {
    const server = createServer((_request, response) =>
      response.setHeader('content-encoding', 'gzip').end(gzipSync('{"power":21.5}')),
    );
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const config = join(folder, 'http.yaml');
    await writeFile(
      config,
      `version: 1\nplatform: { url: "http://127.0.0.1:1", accessToken: bundle-token }\nstateFolder: ${folder}/state\nrunFolder: ${folder}/run\nsensors: [{ name: meter, kind: http, url: "http://127.0.0.1:${port}/", format: json }]\n`,
      { mode: 0o600 },
    );
    const { stdout } = await run(process.execPath, [main, 'sensors', 'read', 'meter', '--config', config]);
    server.close();
    expect(stdout).toMatch(/power\s*=?\s*21\.5/);
  });

  it('keeps a setting of its person and lists it', async () => {
    const env = { ...process.env, XDG_CONFIG_HOME: join(folder, 'settings') };
    await run(process.execPath, [main, 'settings', 'set', 'status.page', 'off'], { env });
    const { stdout } = await run(process.execPath, [main, 'settings', 'list', '--json'], { env });
    expect(JSON.parse(stdout).settings).toEqual({ 'status.page': 'off' });
  });

  it('loads conf for settings, and for the agent never', async () => {
    const { outputs } = await bundleFile(join(ROOT, 'src/main.ts'), join(folder, 'graph/main.mjs'), '1.0.0');
    const chunkOf = (source: string): string | undefined =>
      Object.keys(outputs).find((path) => outputs[path]?.entryPoint?.endsWith(source));
    /** Everything that a file brings by itself, or can bring later. */
    const reached = (path: string | undefined, kinds: RegExp, seen = new Set<string>()): Set<string> => {
      if (path === undefined || seen.has(path)) return seen;
      seen.add(path);
      for (const one of outputs[path]?.imports ?? [])
        if (one.external !== true && kinds.test(one.kind)) reached(one.path, kinds, seen);
      return seen;
    };
    const hasConf = (paths: Set<string>): boolean =>
      [...paths].some((path) =>
        Object.keys(outputs[path]?.inputs ?? {}).some((input) => input.includes('node_modules/conf/')),
      );
    expect(hasConf(reached(chunkOf('src/main.ts'), /^import-statement$/))).toBe(false);
    for (const command of ['run', 'status']) {
      const chunk = chunkOf(`src/cli/commands/${command}.ts`);
      expect(reached(chunk, /./).size).toBeGreaterThan(2);
      expect(hasConf(reached(chunk, /./))).toBe(false);
    }
    expect(hasConf(reached(chunkOf('src/cli/commands/settings.ts'), /./))).toBe(true);
  });

  it('starts the agent from one file, and its drivers from what shares that', async () => {
    const [config, record, loaded] = ['started.yaml', 'started.jsonl', 'loaded'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(
      config,
      `version: 1
platform: { url: "http://127.0.0.1:9", accessToken: token-of-a-bundle }
stateFolder: ${folder}/started/state
runFolder: ${folder}/started/run
log: { level: warn }
time: { trust: always }
status: { page: loopback, port: 0 }
sensors: [{ name: machine, kind: host, period: 1s }]\n`,
      { mode: 0o600 },
    );
    const hook = join(folder, 'hook.mjs');
    await writeFile(
      hook,
      `import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
registerHooks({ load: (url, context, next) => (url.startsWith('file:') && appendFileSync(${JSON.stringify(loaded)}, url + '\\n'), next(url, context)) });`,
    );
    const child = spawn(
      process.execPath,
      ['--import', hook, main, 'run', '--config', config, '--record-appends', record],
      {
        stdio: 'ignore',
      },
    );
    const ended = once(child, 'exit');
    try {
      await expect.poll(() => readFile(record, 'utf8').catch(() => ''), { timeout: 20_000 }).not.toBe('');
    } finally {
      child.kill('SIGTERM');
      await ended;
    }
    const files = (await readFile(loaded, 'utf8'))
      .trim()
      .split('\n')
      .map((url) => basename(url).replace(/-[A-Z0-9]{8}\.mjs$/, ''));
    expect(files.toSorted()).toEqual(['after-start-driver', 'main.mjs', 'start.mjs']);
  }, 60_000);

  it('has every command', async () => {
    const { stdout } = await run(process.execPath, [main, '--help']);
    for (const command of ['run', 'status', 'doctor', 'firmware', 'report', 'audit']) expect(stdout).toContain(command);
  });

  it("runs a driver of a user's own, with the neighbour it imports, and shows what it prints", async () => {
    const [config, driver] = [join(folder, 'turnstone.yaml'), join(folder, 'own.mjs')];
    await writeFile(join(folder, 'neighbour.mjs'), 'export const level = 7;');
    await writeFile(
      driver,
      `import { level } from './neighbour.mjs';
      export const openSensor = async () => (console.log('it opens'), { read: async () => { console.log('it reads'); return [{ key: 'level', value: level }]; } });`,
    );
    await chmod(driver, 0o644);
    await writeFile(
      config,
      `version: 1
platform: { url: "http://127.0.0.1:9", accessToken: token-of-a-bundle }
stateFolder: ${folder}/state
runFolder: ${folder}/run
sensors: [{ name: own, kind: module, file: ${driver} }]\n`,
      { mode: 0o600 },
    );
    const { stdout, stderr } = await run(process.execPath, [main, 'sensors', 'read', 'own', '--config', config]);
    expect(stdout).toMatch(/level +7/);
    for (const words of ['turnstone: the driver of own prints: it opens', 'it reads']) expect(stderr).toContain(words);
  });
});

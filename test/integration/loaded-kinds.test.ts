/** Kinds of sensors and actuators are loaded only when a configuration names them: the others cost a start nothing but their definitions. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

const run = promisify(execFile);
const MAIN = resolve(import.meta.dirname, '../../src/main.ts');
/** Tells on its own line of every module that is loaded of a kind, apart from its definition and from what all kinds share. */
const TELL = `import { registerHooks } from 'node:module';
registerHooks({ load: (url, context, next) => {
  const [, path] = /\\/src\\/((?:sensors|actuators)\\/.*\\/.*)$/.exec(url) ?? [];
  if (path !== undefined && !path.endsWith('/definition.ts') && !path.includes('/kind/')) process.stderr.write('loaded ' + path + '\\n');
  return next(url, context);
} });`;

let folder: string;
let config: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-loaded-'));
  config = join(folder, 'turnstone.yaml');
  const text = `version: 1
platform: { url: "http://127.0.0.1:9", accessToken: token }
stateFolder: ${join(folder, 'state')}
runFolder: ${join(folder, 'run')}
sensors:
  - { name: machine, kind: host, groups: [uptime] }
  - { name: tool, kind: command, program: /bin/date, arguments: ['+%s'], format: number }
actuators:
  - { name: horn, kind: command, program: /bin/true, safe: { crash: 0 } }
  - { name: valve, kind: gpio-output, line: GPIO17, enabled: false }
`;
  await writeFile(config, text, { mode: 0o600 });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function loadedBy(...args: readonly string[]): Promise<readonly string[]> {
  const hook = `data:text/javascript,${encodeURIComponent(TELL)}`;
  const { stderr } = await run(process.execPath, ['--import', hook, MAIN, ...args, '--config', config]);
  return [...stderr.matchAll(/^loaded (.*)$/gm)].map(([, path = '']) => path).sort();
}

/** What is read is converted as it is sent. */
const CONVERSION = ['bit-field', 'convert-value', 'decimal', 'sensor-conversion', 'text-number'].map(
  (name) => `sensors/conversion/${name}.ts`,
);

it('reading one sensor loads its driver, and what that stands on', async () => {
  expect(await loadedBy('sensors', 'read', 'machine')).toEqual([...CONVERSION, 'sensors/host/driver.ts']);
  expect(await loadedBy('sensors', 'read', 'tool')).toEqual([
    'sensors/command/driver.ts',
    ...CONVERSION,
    'sensors/families/lines/line-format.ts',
    'sensors/families/lines/output.ts',
  ]);
});

it('an agent that starts loads what is configured before it reads anything, also what reads later or is off, and nothing else', async () => {
  const own = join(folder, 'own.yaml');
  const later = `  - { name: hourly, kind: host, groups: [uptime], period: 1h, align: true }
  - { name: off, kind: ds18b20, id: 28-000000000001, enabled: false }
`;
  await writeFile(own, (await readFile(config, 'utf8')).replace('  - { name: tool', `${later}  - { name: tool`), {
    mode: 0o600,
  });
  const hook = `data:text/javascript,${encodeURIComponent(TELL)}`;
  const agent = spawn(process.execPath, ['--import', hook, MAIN, 'run', '--config', own], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let told = '';
  for (const stream of [agent.stdout, agent.stderr]) stream.on('data', (chunk: Buffer) => (told += chunk.toString()));
  const ended = once(agent, 'exit');
  await vi.waitFor(() => expect(told).toContain('the agent runs'), { timeout: 60_000, interval: 20 });
  agent.kill('SIGTERM');
  await ended;
  const running = told.indexOf('the agent runs');
  const drivers = [...told.matchAll(/^loaded (.*\/driver\.ts)$/gm)];
  expect(drivers.map(([, path]) => path).sort()).toEqual([
    'actuators/command/driver.ts',
    'sensors/command/driver.ts',
    'sensors/ds18b20/driver.ts',
    'sensors/host/driver.ts',
  ]);
  for (const { index } of drivers) expect(index).toBeLessThan(running);
});

it('setting the states for a crash loads the drivers of what has one', async () => {
  expect(await loadedBy('safe-states', '--event', 'crash')).toEqual(['actuators/command/driver.ts']);
});

it('looking at a bus loads none', async () => {
  expect(await loadedBy('scan', 'one-wire')).toEqual([]);
});

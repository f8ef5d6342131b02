/** What the real commands print to a terminal, over an agent on a simulated board, as lines of HTML. */
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const MAIN = resolve(import.meta.dirname, '../../src/main.ts');
const CONFIG = `version: 1
label: Boiler house
platform:
  url: https://iot.example.org
  accessToken: the-access-token
sensors:
  - { name: machine, label: This machine, kind: host, period: 2s }
  - { name: boiler, label: Boiler, kind: ds18b20, id: 28-0316a279e4ff, period: 2s }
actuators:
  - { name: fan, label: Fan, class: fan, kind: gpio-output, line: GPIO27, safe: { start: off, stop: off } }
rules:
  - name: coolTheBoiler
    label: Cool the boiler
    when: { sensor: boiler, key: temperature, above: 60, hysteresis: 5 }
    set: { actuator: fan, value: on }
    otherwise: off
status: { page: off }
`;
const STARTS_WITHIN_MS = 30_000;
/** Escape sequences of colours and bold (SGR), and their classes here. */
const CLASSES: Readonly<Record<string, string>> = { 1: 'bold', 2: 'dim', 31: 'bad', 32: 'good', 33: 'warn' };
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one
const SEQUENCE = /\u001B\[([\d;]*)m/;

/** Runs commands one after the other; resolves with the prompt, the words and what each printed. */
export async function terminalScreens(commands: readonly (readonly string[])[]): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-terminal-'));
  const config = join(folder, 'turnstone.yaml');
  await writeFile(config, CONFIG, { mode: 0o600 });
  const agent = spawn(process.execPath, [MAIN, 'run', '--config', config, '--simulate'], {
    env: { ...process.env, TMPDIR: folder },
    stdio: 'ignore',
  });
  const ended = new Promise((done) => agent.once('close', done));
  try {
    const runFolder = await runFolderIn(folder);
    const screens: string[] = [];
    for (const words of commands) {
      const where = words[0] === 'check-config' ? [config] : ['--run-folder', runFolder];
      const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...words, ...where], {
        env: { ...process.env, FORCE_COLOR: '1', COLUMNS: '60' },
      });
      screens.push(`<b>$ turnstone ${words.join(' ')}</b>\n${htmlOf(stdout.replaceAll(folder, '/etc/turnstone'))}`);
    }
    return screens;
  } finally {
    agent.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  }
}

/** The simulated agent has folders of its own in the temporary one. */
async function runFolderIn(folder: string): Promise<string> {
  for (let waitedMs = 0; waitedMs < STARTS_WITHIN_MS; waitedMs += 200) {
    const own = (await readdir(folder)).find((name) => name.startsWith('turnstone-simulated-'));
    const run = own === undefined ? undefined : join(folder, own, 'run');
    const files = run === undefined ? [] : await readdir(run).catch((): string[] => []);
    if (run !== undefined && files.includes('control.sock')) {
      // Two readings of each sensor.
      await delay(5_000);
      return run;
    }
    await delay(200);
  }
  throw new Error('the simulated agent did not start');
}

function htmlOf(text: string): string {
  const [first = '', ...rest] = text.split(SEQUENCE);
  let html = escaped(first);
  const open = new Set<string>();
  for (let at = 0; at < rest.length; at += 2) {
    for (const code of (rest[at] ?? '').split(';')) {
      const name = CLASSES[code];
      if (name === undefined) open.clear();
      else open.add(name);
    }
    html += `<span class="${[...open].join(' ')}">${escaped(rest[at + 1] ?? '')}</span>`;
  }
  return html;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** Keeps the house in shape: reads every import and a few words of every source file, and names the rule that one breaks. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../../src');

/** Higher rows may use lower ones; rooms of one row meet only in agent.ts, and in types. */
const ROW: Readonly<Record<string, number>> = {
  main: 6,
  cli: 5,
  agent: 4,
  sensors: 3,
  actuators: 3,
  telemetry: 3,
  outbox: 3,
  attributes: 3,
  rpc: 3,
  provisioning: 3,
  firmware: 3,
  analytics: 3,
  status: 3,
  'control-socket': 3,
  platform: 2,
  hardware: 2,
  config: 2,
  host: 1,
  errors: 0,
};

/** Programs of their own, which stand in for the world outside: what each may use of the house, apart from its types. */
const STAND_INS: Readonly<Record<string, readonly string[]>> = {
  'local-platform': ['host', 'errors'],
  'simulated-board': ['host', 'errors'],
};

/** Words that only some rooms may use, and why. */
const RESERVED: readonly { readonly word: RegExp; readonly where: RegExp; readonly why: string }[] = [
  {
    word: /from '(onoff|epoll|i2c-bus|serialport|@serialport\/[\w-]+)'|import\('(onoff|epoll|i2c-bus|serialport)/,
    where: /^(hardware\/linux-|host\/)/,
    why: 'only hardware/linux-* and host/ know native modules',
  },
  {
    word: /^import (?!type)[^;]*from '(onoff|epoll|i2c-bus|serialport)'/m,
    where: /^$/,
    why: 'native modules are imported lazily, when the configuration asks for that bus',
  },
  {
    word: /from 'undici'|import\('undici'\)|\bfetch\(/,
    where: /^(platform|analytics)\//,
    why: 'only platform/ and analytics/ speak HTTP as a client',
  },
  { word: /\bprocess\.env\b/, where: /^host\//, why: 'only host/ reads the environment' },
  { word: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bprocess\.hrtime\b/, where: /^host\//, why: 'only host/ reads a clock' },
  {
    word: /from '(node:fs|node:fs\/promises|tar)'|import\('node:fs/,
    // The kernel's own files are what the adapters of hardware ports are for; the command line and the stand-ins are programs of their own; and
    // the configuration is read through Machine.loadConfig, in whose place a simulated world puts its own.
    where: /^(host\/|hardware\/linux-|cli\/|local-platform\/|simulated-board\/|config\/checks\/files\.ts)/,
    why: 'only host/ opens files: the running agent has them through Files',
  },
  {
    word: /\b(setTimeout|setInterval|setImmediate)\(|\bAbortSignal\.timeout\(|from 'node:timers/,
    // What waits there is a person at a command line, or the process's own compile cache.
    where: /^(host\/|cli\/|main\.ts|control-socket\/control-client\.ts)/,
    why: 'only host/ sets timers: the running agent has them through Clock',
  },
  {
    word: /\bMath\.random\b|\b(randomUUID|randomBytes|randomInt)\b[^;]*from 'node:crypto'|\bcrypto\.(randomUUID|getRandomValues)\b/,
    // The platform's own names for things: no device sees them.
    where: /^(host\/|local-platform\/)/,
    why: 'only host/ draws: waits by Clock.jitter, what nobody may guess by Machine.randomBytes',
  },
  {
    word: /\bsystem(Clock|Files|RandomBytes)\b|\bthisMachine\b|import (?!type)[^;]*\brunProgram\b[^;]*from/,
    where: /^(host\/|cli\/|agent\/machine\.ts|local-platform\/local-platform\.ts|config\/checks\/drivers\.ts)/,
    why: 'only where a program is put together is the machine named: everything else is given what it stands on',
  },
  { word: /['"`]\/proc\//, where: /^host\//, why: 'only host/ reads /proc' },
  { word: /'node:child_process'/, where: /^host\//, why: 'only host/ spawns' },
  { word: /\bprocess\.exit\(|\bprocess\.exitCode\s*=/, where: /^main\.ts$/, why: 'only main.ts ends the process' },
];

/** Past this a file is two ideas. */
const LONGEST_FILE_LINES = 250;

interface Import {
  readonly target: string;
  readonly isType: boolean;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort();

describe.each(files)('src/%s', (file) => {
  const text = readFileSync(join(SRC, file), 'utf8');

  it('imports only what stands below it', () => {
    expect(importsOf(file, text).flatMap((one) => faultOf(file, one))).toEqual([]);
  });

  it('leaves to others what is theirs', () => {
    const code = withoutComments(text);
    expect(RESERVED.filter(({ word, where }) => word.test(code) && !where.test(file)).map(({ why }) => why)).toEqual([]);
  });

  it('is one idea, with a header that says which', () => {
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(LONGEST_FILE_LINES);
    expect(text).toMatch(/^(#!.*\n)?\/\*\*/);
  });

  it('has named exports only, and is no drawer', () => {
    expect(text).not.toMatch(/^export default/m);
    expect(text).not.toMatch(/^export \* from/m);
    expect(file).not.toMatch(/(utils?|helpers?|common|manager|misc)\.ts$/);
  });
});

function importsOf(file: string, text: string): Import[] {
  const found = [
    ...text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+'(\.[^']+)'/gms),
    ...text.matchAll(/(?:await )?import(\()'(\.[^']+)'\)/g),
  ];
  return found.map(([, mark, path]) => ({
    target: relative(SRC, resolve(SRC, dirname(file), path ?? '')),
    isType: mark?.startsWith('type') === true,
  }));
}

function faultOf(file: string, { target, isType }: Import): string[] {
  const from = roomOf(file);
  const to = roomOf(target);
  if (from === to) return [];
  const allowed = STAND_INS[from];
  if (allowed !== undefined) return allowed.includes(to) || isType ? [] : [`${from} stands outside the house and may not use ${target}`];
  if (STAND_INS[to] !== undefined) return from === 'cli' ? [] : [`${target} is a program of its own; only the command line starts it`];
  const fromRow = ROW[from];
  const toRow = ROW[to];
  if (fromRow === undefined || toRow === undefined) return [`${fromRow === undefined ? from : to} is no room of the house`];
  if (toRow < fromRow) return [];
  if (toRow === fromRow && isType) return [];
  return [toRow === fromRow ? `${from} and ${to} are of one row: they meet in agent.ts, or in types` : `${to} stands above ${from}`];
}

/** `outbox/segment.ts` belongs to `outbox`; `agent.ts` is a room of its own. */
function roomOf(path: string): string {
  return (path.split('/')[0] ?? '').replace(/\.ts$/, '');
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

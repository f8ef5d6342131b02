/** Keeps the house in shape: reads every import and a few words of every source file, and names the rule that one breaks. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../../src');

/** Higher rows may use lower ones; rooms of one row meet only in agent.ts, and in types. */
const ROW: Readonly<Record<string, number>> = {
  main: 8,
  cli: 7,
  agent: 6,
  sensors: 5,
  actuators: 5,
  telemetry: 5,
  outbox: 5,
  attributes: 5,
  rpc: 5,
  provisioning: 5,
  firmware: 5,
  analytics: 5,
  status: 5,
  'control-socket': 5,
  config: 4,
  'RPC methods': 3.5,
  'kinds of sensors and actuators': 3,
  platform: 3,
  hardware: 3,
  'fields of a configuration': 2,
  host: 1,
  errors: 0,
};

/** They stand above what a configuration is made of, and beside the ways to the world outside all the same: they meet in types only. */
const BESIDE: readonly (readonly [string, string])[] = [
  ['config', 'hardware'],
  ['config', 'platform'],
];

/**
 * Rooms that share a folder with another one. A kind of sensor or actuator is one folder, whose files are of three rooms: its definition, of
 * which the configuration's schema and checks are made, so that it stands below `config`; its driver, which stands in `sensors` or `actuators` as
 * ever; and the twin of a sensor, which is a part of the simulated board and shares no code with the driver that it judges. The RPC methods that rooms declare stand below
 * `config` too, which knows their names; what they work on they know by its type.
 */
const SHARED_FOLDERS: readonly { readonly room: string; readonly files: RegExp }[] = [
  { room: 'fields of a configuration', files: /^config\/(fields(\/.*)?|config-fault|quantity|secret)\.ts$/ },
  { room: 'RPC methods', files: /^(\w[\w-]*\/rpc-methods|rpc\/(rpc-method|built-in-methods|widget-names))\.ts$/ },
  { room: 'simulated-board', files: /^sensors\/.*\/twin(-[a-z]+)?\.ts$/ },
  {
    room: 'kinds of sensors and actuators',
    files:
      /^(sensors\/((.*\/)?definition|kinds|identify-chip|twins|sensor|sensor-deps)|actuators\/((.*\/)?definition|kinds|actuator(-value)?))\.ts$/,
  },
];

/** Files that a definition names in its own folder, by `import()` alone: none is loaded, or used, before somebody asks for it. */
const NAMED_BY_DEFINITION = /^((?:sensors|actuators)\/(?:families\/)?[a-z0-9-]+\/)definition\.ts > \1(driver|twin)\.ts$/;

/** Programs of their own, which stand in for the world outside: what each may use of the house, apart from its types. */
const STAND_INS: Readonly<Record<string, readonly string[]>> = {
  'local-platform': ['host', 'errors'],
  'simulated-board': ['host', 'errors'],
};

/** Parts of a room, the lowest first: each uses only those before it, and files of the room beside them use all. Types count, too. */
const PARTS: Readonly<Record<string, readonly string[]>> = { outbox: ['format', 'segments', 'times', 'delivery'] };

/** Rooms with one door: what others import of them comes from there; beside it stand only what opens the room and its tables of calls. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  outbox: ['outbox/outbox.ts', 'outbox/open-outbox.ts', 'outbox/control-calls.ts'],
};

/** Words that only some rooms may use, and why. */
const RESERVED: readonly { readonly word: RegExp; readonly where: RegExp; readonly why: string }[] = [
  {
    word: /\b(MOST|LEAST|LONGEST|SHORTEST|LARGEST|SMALLEST)_/,
    where: /^$/,
    why: 'a bound is called MAX_ or MIN_',
  },
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
  { word: /from 'conf'|import\('conf'\)/, where: /^cli\/settings-file\.ts$/, why: 'only the settings of a person are kept by conf' },
  {
    word: /^import (?!type)[^;]*from '[^']*(settings-file\.ts|\/settings\.ts)'/m,
    where: /^cli\/settings\.ts$/,
    why: 'settings are loaded by import(), for the commands that take them',
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
    // A person at a command line waits there, or the process's own compile cache.
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
    word: /\bsystem(Clock|Files|RandomBytes)\b|\bthis(Machine|Host)\b|import (?!type)[^;]*\brunProgram\b[^;]*from/,
    where: /^(host\/|cli\/|agent\/machine\.ts|sensors\/module\/child\.ts|local-platform\/local-platform\.ts|config\/checks\/drivers\.ts)/,
    why: 'only where a program is put together is the machine named: everything else is given what it stands on',
  },
  { word: /['"`]\/proc\//, where: /^host\//, why: 'only host/ reads /proc' },
  { word: /'node:child_process'/, where: /^host\//, why: 'only host/ spawns' },
  {
    word: /\bprocess\.exit\(|\bprocess\.exitCode\s*=/,
    where: /^(main|sensors\/module\/child)\.ts$/,
    why: 'only a process edge ends the process',
  },
];

/** Past this a file is two ideas. */
const MAX_FILE_LINES = 250;
/** All of src/agent*: past this, rules of other rooms have come to live there. */
const MAX_AGENT_LINES = 1_400;

interface Import {
  readonly target: string;
  readonly isType: boolean;
  readonly isLazy: boolean;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
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
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(MAX_FILE_LINES);
    expect(text).toMatch(/^(#!.*\n)?\/\*\*/);
  });

  it('has named exports only, and is no drawer', () => {
    expect(text).not.toMatch(/^export default/m);
    expect(text).not.toMatch(/^export \* from/m);
    expect(file).not.toMatch(/(utils?|helpers?|common|manager|misc)\.ts$/);
  });

  it('goes around the types only with a sentence why, on the line before', () => {
    const lines = text.split('\n');
    const bare = lines.filter((line, at) => line.includes('as unknown as') && !/^\s*(\/\/|\*|\/\*)/.test(lines[at - 1] ?? ''));
    expect(bare).toEqual([]);
  });
});

it('the agent joins parts, and has no rule of its own that would take more lines', () => {
  const wiring = files.filter((file) => roomOf(file) === 'agent');
  const lines = wiring.map((file) => readFileSync(join(SRC, file), 'utf8').trimEnd().split('\n').length);
  expect(lines.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(MAX_AGENT_LINES);
});

function importsOf(file: string, text: string): Import[] {
  const found = [
    ...text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+'(\.[^']+)'/gms),
    ...text.matchAll(/(?:await )?import(\()'(\.[^']+)'\)/g),
  ];
  return found.map(([, mark, path]) => ({
    target: relative(SRC, resolve(SRC, dirname(file), path ?? '')),
    isType: mark?.startsWith('type') === true,
    isLazy: mark === '(',
  }));
}

function faultOf(file: string, { target, isType, isLazy }: Import): string[] {
  const from = roomOf(file);
  const to = roomOf(target);
  if (from === to) return partFaultOf(from, file, target);
  if (isLazy && NAMED_BY_DEFINITION.test(`${file} > ${target}`)) return [];
  const doors = DOORS[to];
  if (doors?.includes(target) === false) return [`${target} is inside of ${to}: what others use of it comes from ${doors[0]}`];
  const allowed = STAND_INS[from];
  if (allowed !== undefined) return allowed.includes(to) || isType ? [] : [`${from} stands outside the house and may not use ${target}`];
  // Definitions say in types what a twin is, for the command line to give it to the board.
  if (STAND_INS[to] !== undefined && !(isType && from === 'kinds of sensors and actuators'))
    return from === 'cli' ? [] : [`${target} is a program of its own; only the command line starts it`];
  if (STAND_INS[to] !== undefined) return [];
  const fromRow = ROW[from];
  const toRow = ROW[to];
  if (fromRow === undefined || toRow === undefined) return [`${fromRow === undefined ? from : to} is no room of the house`];
  const isBeside = toRow === fromRow || BESIDE.some((pair) => pair.includes(from) && pair.includes(to));
  if (toRow < fromRow && !isBeside) return [];
  if ((isBeside || from === 'RPC methods') && isType) return [];
  return [isBeside ? `${from} and ${to} are of one row: they meet in agent.ts, or in types` : `${to} stands above ${from}`];
}

/** Inside a room that has parts. */
function partFaultOf(room: string, file: string, target: string): string[] {
  const parts = PARTS[room];
  if (parts === undefined) return [];
  const [own, other] = [file, target].map((path) => (path.split('/').length > 2 ? parts.indexOf(path.split('/')[1] ?? '') : parts.length));
  if (own === -1 || other === -1) return [`${room} has no such part: ${own === -1 ? file : target}`];
  return (other as number) > (own as number) ? [`${target} stands above ${parts[own as number]}`] : [];
}

/** `outbox/segment.ts` belongs to `outbox`; `agent/agent.ts` is a room of its own. */
function roomOf(path: string): string {
  const shared = SHARED_FOLDERS.find(({ files: of }) => of.test(path));
  return shared?.room ?? (path.split('/')[0] ?? '').replace(/\.ts$/, '');
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

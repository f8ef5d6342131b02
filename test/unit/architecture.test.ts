/** Keeps the house in shape: reads every import and a few words of every source file, and names the rule that one breaks. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../../src');

/** Folders by their rows; one that is not named belongs to the folder above it. Higher rows may use lower ones; those of one row meet only in agent/, and in types. */
const ROW: Readonly<Record<string, number>> = {
  '': 13,
  'cli/frame': 12,
  office: 11.5,
  cli: 11,
  agent: 10,
  sensors: 9,
  actuators: 9,
  telemetry: 9,
  outbox: 9,
  history: 9,
  link: 9,
  attributes: 9,
  rpc: 9,
  devices: 9,
  firmware: 9,
  'remote-config': 9,
  doctor: 9.5,
  scan: 9.5,
  'page-server': 9.5,
  status: 9,
  timeline: 9,
  'control-socket': 9,
  config: 8,
  operations: 7,
  kinds: 7,
  'sensors/*': 6,
  'actuators/*': 6,
  'sensors/families/*': 5,
  'sensors/conversion': 4.5,
  'sensors/kind': 4,
  'actuators/kind': 4,
  platform: 3,
  hardware: 3,
  'config/fields': 2,
  store: 1.5,
  host: 1,
  values: 0.5,
  names: 0.5,
  'pages/names': 0.4,
  errors: 0,
};

/** Folders whose code stays apart: they meet in types only. */
const APART: readonly (readonly [string, string])[] = [
  ['config', 'hardware'],
  ['config', 'platform'],
];

/** Twin of a sensor: a part of the simulated board, which shares no code with the driver that it judges. */
const TWIN = /^sensors\/.*\/twin(-[a-z]+)?\.ts$/;
/** Declaration of a kind: its driver and its twin are loaded when somebody asks for them. */
const DEFINITION = /\/definition\.ts$/;

/** Programs of their own, which stand in for the world outside: what each may use of the house, apart from its types. */
const STAND_INS: Readonly<Record<string, readonly string[]>> = {
  'stand-ins/local-platform': ['host', 'values', 'errors'],
  'stand-ins/simulated-board': ['host', 'values', 'errors'],
};

/** Parts of a room, the lowest first: each uses only those before it, and files of the room beside them use all. Types count, too. */
const PARTS: Readonly<Record<string, readonly string[]>> = { outbox: ['format', 'segments', 'times', 'delivery'] };

/** Rooms with one door: what others import of them comes from there; beside it stands only what opens the room. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  outbox: ['outbox/outbox.ts', 'outbox/open-outbox.ts'],
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
    where: /^(platform|office\/reports)\//,
    why: 'only platform/ and office/reports/ speak HTTP as a client',
  },
  {
    word: /from 'conf'|import\('conf'\)/,
    where: /^cli\/settings-file\.ts$/,
    why: 'only the settings of a person are kept by conf',
  },
  {
    word: /^import (?!type)[^;]*from '[^']*(settings-file\.ts|\/settings\.ts)'/m,
    where: /^cli\/settings\.ts$/,
    why: 'settings are loaded by import(), for the commands that take them',
  },
  { word: /\bprocess\.env\b/, where: /^host\//, why: 'only host/ reads the environment' },
  {
    word: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bprocess\.hrtime\b/,
    where: /^host\//,
    why: 'only host/ reads a clock',
  },
  {
    word: /from '(node:fs|node:fs\/promises|tar)'|import\('node:fs/,
    // The kernel's own files are what the adapters of hardware ports are for; the command line and the stand-ins are programs of their own; and
    // the configuration is read through Machine.loadConfig, in whose place a simulated world puts its own.
    where: /^(host\/|hardware\/linux-|cli\/|office\/|stand-ins\/|config\/checks\/files\.ts)/,
    why: 'only host/ opens files: the running agent has them through Files',
  },
  {
    word: /\b(setTimeout|setInterval|setImmediate)\(|\bAbortSignal\.timeout\(|from 'node:timers/,
    // A person at a command line waits there, or the process's own compile cache.
    where: /^(host\/|cli\/|office\/|main\.ts|control-socket\/control-client\.ts)/,
    why: 'only host/ sets timers: the running agent has them through Clock',
  },
  {
    word: /\bMath\.random\b|\b(randomUUID|randomBytes|randomInt)\b[^;]*from 'node:crypto'|\bcrypto\.(randomUUID|getRandomValues)\b/,
    // The platform's own names for things: no device sees them.
    where: /^(host\/|stand-ins\/local-platform\/)/,
    why: 'only host/ draws: waits by Clock.jitter, what nobody may guess by Machine.randomBytes',
  },
  {
    word: /\bsystem(Clock|Files|RandomBytes)\b|\bthis(Machine|Host)\b|import (?!type)[^;]*\brunProgram\b[^;]*from/,
    where:
      /^(host\/|cli\/|office\/|agent\/machine\.ts|sensors\/module\/child\.ts|stand-ins\/local-platform\/local-platform\.ts|config\/checks\/drivers\.ts)/,
    why: 'only where a program is put together is the machine named: everything else is given what it stands on',
  },
  {
    word: /(?<!typeof )\bimport\('node:/,
    where: /^$/,
    why: 'what the bundle loads later has no names of a builtin: process.getBuiltinModule has them',
  },
  { word: /['"`]\/proc\//, where: /^host\//, why: 'only host/ reads /proc' },
  { word: /'node:child_process'/, where: /^host\//, why: 'only host/ spawns' },
  {
    word: /\bprocess\.exit\(|\bprocess\.exitCode\s*=/,
    where: /^(main|sensors\/module\/child)\.ts$/,
    why: 'only a process edge ends the process',
  },
];

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
    expect(RESERVED.filter(({ word, where }) => word.test(code) && !where.test(file)).map(({ why }) => why)).toEqual(
      [],
    );
  });

  it('has a header that says what it owns', () => {
    expect(text).toMatch(/^(#!.*\n)?\/\*\*/);
  });

  it('has named exports only, and is no drawer', () => {
    expect(text).not.toMatch(/^export default/m);
    expect(text).not.toMatch(/^export \* from/m);
    expect(file).not.toMatch(/(utils?|helpers?|common|manager|misc)\.ts$/);
  });

  it('goes around the types only with a sentence why, on the line before', () => {
    const lines = text.split('\n');
    const bare = lines.filter(
      (line, at) => line.includes('as unknown as') && !/^\s*(\/\/|\*|\/\*)/.test(lines[at - 1] ?? ''),
    );
    expect(bare).toEqual([]);
  });
});

describe('the table of rooms in docs/architecture.md', () => {
  const page = readFileSync(resolve(SRC, '../docs/architecture.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `src\/([\w-]+)` \|[^|]*\| (\d*) ?\| `([^`]+)` \|$/gm)].map(
    ([, room = '', level, first = '']) => ({ room, level, first }),
  );

  it('has every folder of src, with a file to begin with', () => {
    const folders = readdirSync(SRC, { withFileTypes: true }).filter((one) => one.isDirectory());
    expect(rows.map(({ room }) => room).sort()).toEqual(folders.map(({ name }) => name).sort());
    expect(rows.filter(({ room, first }) => !existsSync(join(SRC, room, first)))).toEqual([]);
  });

  it('has them in the order in which they use each other', () => {
    const placed = rows.filter(({ level }) => level !== '');
    const levels = [...new Set(placed.map(({ room }) => ROW[room] as number))].sort((a, b) => b - a);
    expect(placed.map(({ room, level }) => [room, Number(level)])).toEqual(
      placed.map(({ room }) => [room, levels.indexOf(ROW[room] as number) + 1]),
    );
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
    isLazy: mark === '(',
  }));
}

function faultOf(file: string, { target, isType, isLazy }: Import): string[] {
  if (TWIN.test(file) && !isType)
    return TWIN.test(target) || ['stand-ins/simulated-board', 'host', 'values', 'errors'].includes(roomOf(target))
      ? []
      : [`a twin may not use ${target}`];
  if (DEFINITION.test(file) && dirname(file) === dirname(target))
    return isType || isLazy ? [] : [`a definition loads ${target} by import()`];
  const from = roomOf(file);
  const to = roomOf(target);
  if (from === to) return partFaultOf(from, file, target);
  const doors = DOORS[to];
  if (doors?.includes(target) === false)
    return [`${target} is inside of ${to}: what others use of it comes from ${doors[0]}`];
  const allowed = STAND_INS[from];
  if (allowed !== undefined)
    return allowed.includes(to) || isType ? [] : [`${from} stands outside the house and may not use ${target}`];
  if (STAND_INS[to] !== undefined)
    return from === 'cli' || isType ? [] : [`${target} is a program of its own; only the command line starts it`];
  const [fromRow = -1, toRow = -1] = [ROW[from], ROW[to]];
  if (fromRow < 0 || toRow < 0) return [`${fromRow < 0 ? from : to} is no room of the house`];
  const isApart = toRow === fromRow || APART.some((pair) => pair.includes(from) && pair.includes(to));
  if (toRow < fromRow && !isApart) return [];
  // Declarations say in types what they are made for.
  if (isType && (isApart || from === 'operations' || from.includes('/'))) return [];
  return [isApart ? `${from} and ${to} are apart: they meet in agent/, or in types` : `${to} stands above ${from}`];
}

/** Inside a room that has parts. */
function partFaultOf(room: string, file: string, target: string): string[] {
  const parts = PARTS[room];
  if (parts === undefined) return [];
  const [own, other] = [file, target].map((path) =>
    path.split('/').length > 2 ? parts.indexOf(path.split('/')[1] ?? '') : parts.length,
  );
  if (own === -1 || other === -1) return [`${room} has no such part: ${own === -1 ? file : target}`];
  return (other as number) > (own as number) ? [`${target} stands above ${parts[own as number]}`] : [];
}

/** `outbox/delivery/lanes.ts` belongs to `outbox`, `sensors/bme280/driver.ts` to `sensors/*`. */
function roomOf(path: string): string {
  const folder = dirname(path) === '.' ? '' : dirname(path);
  const standIn = /^stand-ins\/[^/]+/.exec(path)?.[0];
  if (standIn !== undefined) return standIn;
  if (folder.startsWith('cli/frame')) return 'cli/frame';
  const kind = folder.replace(/^(sensors\/families|sensors|actuators)\/.+$/, '$1/*');
  return [folder, kind].find((one) => ROW[one] !== undefined) ?? topOf(path);
}

function topOf(path: string): string {
  return path.split('/')[0] ?? '';
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

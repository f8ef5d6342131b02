/**
 * First boot killed everywhere. The judge is the platform's device list; what the board itself believes counts for nothing. Boards share
 * processes, each at a place of its own when the process is killed: a start of Node costs more than a whole first boot.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { bundleChild, bundledEnvironment } from '../support/bundled-child.ts';

const PROGRAM = join(import.meta.dirname, '../support/provisioning-board-child.ts');
const STEPS = ['token-made', 'token-synced', 'asking', 'answered', 'credentials-synced'];
const WRITES = [1, 2, 3, 4].flatMap((write) =>
  ['half', 'not-renamed', 'renamed'].map((place) => `write-${write}-${place}`),
);
/** The campaign of the issue; more with TURNSTONE_KILLS. */
const KILLS = Number(process.env.TURNSTONE_KILLS ?? 100);
/** Boards of one process that is killed at random; so many more or fewer steps than each other they have done. */
const TOGETHER = 5;
/** Processes at once, on two cores. */
const AT_ONCE = 2;
/** A random kill falls so soon after what the boards told: between two such, too. */
const WITHIN_MS = 4;

type Mode = 'default' | 'legacy';
type Outcome = 'first try' | 'resumed' | 'device exists, token unknown' | 'two devices' | 'lost token' | 'other';

const platforms = new Map<Mode, LocalPlatform>();
let folder = '';
let program = '';
let boards = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-kills-'));
  program = await bundleChild(PROGRAM, folder);
  for (const mode of ['default', 'legacy'] as const) {
    const platform = await LocalPlatform.start({ legacyProvisioning: mode === 'legacy' });
    const { registry } = platform.state;
    platform.state.registry.profiles.put({
      ...registry.defaultProfile,
      id: crypto.randomUUID(),
      name: 'gateways',
      isDefault: false,
      provisionType: 'ALLOW_CREATE_NEW_DEVICES',
      provisionDeviceKey: 'key',
      provisionDeviceSecret: 'secret',
    });
    platforms.set(mode, platform);
  }
});

afterAll(async () => {
  for (const platform of platforms.values()) await platform.close();
  await rm(folder, { recursive: true, force: true });
});

/** Where one process is killed: when each of its boards stands still at its step or has ended, or so long after so much was told. */
interface Kill {
  /** One board each. */
  readonly steps: readonly (string | undefined)[];
  readonly afterTold?: number;
  readonly andMs?: number;
}

interface Boots {
  /** By serial number: a board's last word, or `killed`. */
  readonly last: ReadonlyMap<string, string>;
  readonly told: number;
}

/** One start of these boards, in one process that is killed in the end. */
async function boot(
  mode: Mode,
  serials: readonly string[],
  { steps, afterTold, andMs }: Partial<Kill> = {},
): Promise<Boots> {
  const url = platforms.get(mode)?.url ?? '';
  const boards = serials.map((serial, index) => (steps?.[index] === undefined ? serial : `${serial}=${steps[index]}`));
  const child: ChildProcess = spawn(process.execPath, [program, url, folder, ...boards], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: bundledEnvironment(program),
  });
  const last = new Map(serials.map((serial) => [serial, 'killed']));
  const ended = new Set<string>();
  let told = 0;
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    if (line === 'ready') child.stdin?.write('go\n');
    const serial = line.slice(0, line.indexOf(' '));
    const said = line.slice(serial.length + 1);
    if (line === 'ready' || said.startsWith('at ')) {
      if (told === afterTold) {
        if (andMs === undefined) child.kill('SIGKILL');
        else setTimeout(() => child.kill('SIGKILL'), andMs);
      }
      told += 1;
      continue;
    }
    if (said !== 'stopped') last.set(serial, said);
    // A board that has called for a person waits for hours: it has said what there is to say.
    if (ended.add(serial).size === serials.length) child.kill('SIGKILL');
  }
  return { last, told };
}

/** New boards that are killed once, and started again; what became of each, by the platform's word. */
async function killedOnce(mode: Mode, kill: Kill): Promise<Outcome[]> {
  const serials = await Promise.all(kill.steps.map(() => newBoard(mode)));
  const first = await boot(mode, serials, kill);
  const second = await boot(mode, serials);
  return serials.map((serial) => judge(mode, serial, first.last.get(serial) ?? '', second.last.get(serial) ?? ''));
}

function judge(mode: Mode, serial: string, first: string, second: string): Outcome {
  const platform = platforms.get(mode);
  const devices = platform?.state.registry.devices.all.filter(({ name }) => name.includes(serial)) ?? [];
  const exact = devices.filter(({ name }) => name === `gateway-${serial}`);
  if (devices.length > 1 || exact.length !== devices.length) return 'two devices';
  const [device] = devices;
  if (device === undefined) return 'other';
  // The last start's reading is under the device of this name, or it was not its token that was used.
  const arrived = platform?.state.telemetry.keys(device.id).includes('boots') === true;
  if (second === 'done') return arrived ? (first === 'killed' ? 'resumed' : 'first try') : 'other';
  return /^alert: device exists, token unknown/.test(second)
    ? mode === 'legacy'
      ? 'device exists, token unknown'
      : 'lost token'
    : 'other';
}

async function campaign(name: string, mode: Mode, kills: readonly Kill[]): Promise<Map<Outcome, number>> {
  const counts = new Map<Outcome, number>();
  const left = [...kills];
  const work = async (): Promise<void> => {
    for (let kill = left.pop(); kill !== undefined; kill = left.pop()) {
      for (const outcome of await killedOnce(mode, kill)) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  console.log(`${name}: ${[...counts].map(([outcome, count]) => `${outcome} ${count}`).join(', ')}`);
  return counts;
}

/** How much boards of one process tell of an undisturbed provisioning: random kills are spread over it, on a busy machine as on a quiet one. */
async function toldUsually(): Promise<number> {
  const serials = await Promise.all(Array.from({ length: TOGETHER }, () => newBoard('default')));
  const { last, told } = await boot('default', serials);
  expect([...last.values()]).toEqual(serials.map(() => 'done'));
  return told;
}

async function newBoard(mode: Mode): Promise<string> {
  boards += 1;
  const serial = `${mode}-${String(boards).padStart(4, '0')}`;
  await mkdir(join(folder, serial));
  return serial;
}

const NEVER: readonly Outcome[] = ['two devices', 'lost token', 'other'];

describe('provisioning, killed', () => {
  it('at every named step, ends with one device whose token the board has', async () => {
    const counts = await campaign('every step', 'default', [{ steps: [...STEPS, ...WRITES] }]);
    expect(counts).toEqual(new Map([['resumed', STEPS.length + WRITES.length]]));
  }, 120_000);

  it('while the answer is in flight, finds its own device again', async () => {
    const isProvision = (_method: string, path: string): boolean => path === '/api/v1/provision';
    const platform = platforms.get('default');
    platform?.faults.plant({ kind: 'lose-answer' }, { times: 5, matches: isProvision });
    const counts = await campaign('answer lost', 'default', [
      { steps: Array(5).fill(undefined), afterTold: 0, andMs: 60 },
    ]);
    for (const outcome of NEVER) expect(counts.get(outcome) ?? 0).toBe(0);
    platform?.faults.clear();
  }, 120_000);

  it(`${KILLS} times at random, never makes two devices and never loses a token`, async () => {
    const most = await toldUsually();
    const counts = await campaign(
      'random kills',
      'default',
      Array.from({ length: Math.ceil(KILLS / TOGETHER) }, () => ({
        steps: Array(TOGETHER).fill(undefined),
        afterTold: Math.floor(Math.random() * most),
        andMs: Math.random() * WITHIN_MS,
      })),
    );
    for (const outcome of [...NEVER, 'device exists, token unknown'] as const) expect(counts.get(outcome) ?? 0).toBe(0);
    expect(counts.get('resumed') ?? 0).toBeGreaterThan(KILLS / 4);
  }, 300_000);

  it('before a server that makes tokens itself, never makes two devices and says when the token is lost', async () => {
    const counts = await campaign('server makes tokens', 'legacy', [{ steps: [...STEPS, ...WRITES] }]);
    for (const outcome of NEVER) expect(counts.get(outcome) ?? 0).toBe(0);
    // Between the answer and the first finished write of its token.
    expect(counts.get('device exists, token unknown')).toBe(3);
  }, 120_000);
});

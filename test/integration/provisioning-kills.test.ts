/** First boot killed everywhere. The judge is the platform's device list; what the board itself believes counts for nothing. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalPlatform } from '../../src/local-platform/local-platform.ts';
import { bundleChild, bundledEnvironment } from '../support/bundled-child.ts';

const PROGRAM = join(import.meta.dirname, '../support/provisioning-board-child.ts');
const STEPS = ['token-made', 'token-synced', 'asking', 'answered', 'credentials-synced'];
const WRITES = [1, 2, 3, 4].flatMap((write) => ['half', 'not-renamed', 'renamed'].map((place) => `write-${write}-${place}`));
/** The campaign of the issue; more with TURNSTONE_KILLS. */
const KILLS = Number(process.env.TURNSTONE_KILLS ?? 100);
/** Boards at once, on two cores. */
const AT_ONCE = 3;
/** A random kill falls so soon after what the board told: between two such, too. */
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

/** Where one start of a board is killed: by itself at a step, or from outside, so long after it has told so much of what it does. */
interface Kill {
  readonly step?: string;
  readonly afterTold?: number;
  readonly andMs?: number;
  readonly onTold?: () => void;
}

/** One start of a board; resolves to its last line, or `killed`. */
async function boot(mode: Mode, serial: string, kill: Kill = {}): Promise<string> {
  const url = platforms.get(mode)?.url ?? '';
  const stateFolder = join(folder, serial);
  const child: ChildProcess = spawn(process.execPath, [program, url, stateFolder, serial, kill.step ?? ''], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: bundledEnvironment(program),
  });
  let last = 'killed';
  let told = 0;
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    if (line === 'ready') child.stdin?.write('go\n');
    if (line === 'ready' || line.startsWith('at ')) {
      kill.onTold?.();
      if (told === kill.afterTold) {
        if (kill.andMs === undefined) child.kill('SIGKILL');
        else setTimeout(() => child.kill('SIGKILL'), kill.andMs);
      }
      told += 1;
      continue;
    }
    last = line;
    // A board that has called for a person waits for hours: it has said what there is to say.
    if (line.startsWith('alert')) child.kill('SIGKILL');
  }
  return last;
}

/** A new board that is killed once, and started again; what became of it, by the platform's word. */
async function campaignBoard(mode: Mode, kill: Kill): Promise<Outcome> {
  const serial = await newBoard(mode);
  const first = await boot(mode, serial, kill);
  const second = await boot(mode, serial);
  return judge(mode, serial, first, second);
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
      const outcome = await campaignBoard(mode, kill);
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  console.log(`${name}: ${[...counts].map(([outcome, count]) => `${outcome} ${count}`).join(', ')}`);
  return counts;
}

/** How much a board tells of an undisturbed provisioning: random kills are spread over it, on a busy machine as on a quiet one. */
async function toldUsually(): Promise<number> {
  const serial = await newBoard('default');
  let told = 0;
  const last = await boot('default', serial, { onTold: () => (told += 1) });
  expect(last).toBe('done');
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
    const counts = await campaign(
      'every step',
      'default',
      [...STEPS, ...WRITES].map((step) => ({ step })),
    );
    expect(counts).toEqual(new Map([['resumed', STEPS.length + WRITES.length]]));
  }, 120_000);

  it('while the answer is in flight, finds its own device again', async () => {
    const isProvision = (_method: string, path: string): boolean => path === '/api/v1/provision';
    const platform = platforms.get('default');
    platform?.faults.plant({ kind: 'lose-answer' }, { times: 5, matches: isProvision });
    const counts = await campaign(
      'answer lost',
      'default',
      Array.from({ length: 5 }, () => ({ afterTold: 0, andMs: 60 })),
    );
    for (const outcome of NEVER) expect(counts.get(outcome) ?? 0).toBe(0);
    platform?.faults.clear();
  }, 120_000);

  it(`${KILLS} times at random, never makes two devices and never loses a token`, async () => {
    const most = await toldUsually();
    const counts = await campaign(
      'random kills',
      'default',
      Array.from({ length: KILLS }, () => ({ afterTold: Math.floor(Math.random() * most), andMs: Math.random() * WITHIN_MS })),
    );
    for (const outcome of [...NEVER, 'device exists, token unknown'] as const) expect(counts.get(outcome) ?? 0).toBe(0);
    expect(counts.get('resumed') ?? 0).toBeGreaterThan(KILLS / 4);
  }, 300_000);

  it('before a server that makes tokens itself, never makes two devices and says when the token is lost', async () => {
    const counts = await campaign(
      'server makes tokens',
      'legacy',
      [...STEPS, ...WRITES].map((step) => ({ step })),
    );
    for (const outcome of NEVER) expect(counts.get(outcome) ?? 0).toBe(0);
    // Between the answer and the first finished write of its token.
    expect(counts.get('device exists, token unknown')).toBe(3);
  }, 120_000);
});

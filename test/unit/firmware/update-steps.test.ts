import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { configSchema, type FirmwareConfig } from '../../../src/config/schema/agent-config.ts';
import type { FirmwareOffer } from '../../../src/firmware/firmware-offer.ts';
import { guardLines, releasePaths } from '../../../src/firmware/guard-state.ts';
import { signatureFrame } from '../../../src/firmware/release-signature.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import type { Update } from '../../../src/firmware/update-journal.ts';
import type { UpdateState } from '../../../src/firmware/update-states.ts';
import { type Outcome, UpdateSteps } from '../../../src/firmware/update-steps.ts';
import type { AgentRelease, UpdaterDeps, Vitals } from '../../../src/firmware/updater-deps.ts';
import { silentLog } from '../../../src/host/log.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { makeImage, makeKeys } from '../../support/release-image.ts';

const paths = releasePaths('/');
const IMAGE = join(paths.firmware, 'image');
const signer = makeKeys();
const image = makeImage({ release: '2.0.0', arch: 'arm64', key: signer.privateKey }).bytes;
const offer: FirmwareOffer = {
  title: 'turnstone',
  version: '2.0.0',
  checksum: createHash('sha256').update(image).digest('hex'),
  algorithm: 'SHA256',
  sizeBytes: image.length,
  fingerprint: 'f',
};
const update: Update = {
  id: 'one',
  title: 'turnstone',
  version: '2.0.0',
  source: 'platform',
  offer,
  from: '1.0.0',
  startedAtMs: 0,
  unanswered: 0,
  attempts: 0,
};
const { firmware } = configSchema.parse({
  version: 1,
  platform: { url: 'http://127.0.0.1:1', accessToken: 'token' },
  firmware: {
    handlers: [
      { title: 'motor', program: '/bin/true' },
      { title: 'motor', package: 'software', program: '/bin/false' },
    ],
  },
});

let disk: MemoryFiles;
let clock: FakeClock;
/** Undefined: nothing is; `unread`: nobody has asked yet. */
let offered: string | undefined;
let offersRead: number;
let received: number[];
let waits: string | undefined;
let asked: object[];
let handled: object[];
let restarts: string[];
let stop: AbortController;

beforeEach(() => {
  disk = new MemoryFiles();
  clock = new FakeClock();
  stop = new AbortController();
  offered = 'f';
  offersRead = 0;
  [received, asked, handled, restarts] = [[], [], [], []];
  disk.put('/keys/a.pem', signer.publicPem);
});

function releaseOf(
  runningVersion: string,
  vitals: AgentRelease['vitals'] = () => ({ uploaded: true, reachable: true }),
): AgentRelease {
  return { runningVersion, vitals, requestRestart: (reason) => void restarts.push(reason) };
}

function steps(changes: Partial<UpdaterDeps> = {}, config: Partial<FirmwareConfig> = {}): UpdateSteps {
  const deps: UpdaterDeps = {
    kind: 'firmware',
    config: { ...firmware, trustedKeys: '/keys', ...config },
    files: updateFiles(disk),
    paths,
    clock,
    log: silentLog,
    arch: 'arm64',
    release: releaseOf('1.0.0'),
    deviceApi: {
      getAttributes: () => Promise.reject(new Error('not asked for')),
      getFirmware: async (wanted) => {
        asked.push(wanted);
        return { lengthBytes: image.length, stream: streamOf(image) };
      },
    },
    getUrl: () => Promise.reject(new Error('no file lies elsewhere')),
    report: async () => {},
    runHandler: async (handler, given) => {
      handled.push({ program: handler.program, ...given, content: disk.contentOf(given.file).toString() });
    },
    newId: () => 'fresh',
    locked: () => false,
    onWait: () => {},
    ...changes,
  };
  return new UpdateSteps(deps, {
    standing: (fingerprint) => (offered === 'unread' ? 'unread' : offered === fingerprint ? 'offered' : 'withdrawn'),
    readOffer: async () => {
      offersRead += 1;
    },
    received: (bytes) => void received.push(bytes),
    waits: (reason) => {
      waits = reason;
    },
  });
}

async function* streamOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const take = (state: UpdateState, changes: Partial<Update> = {}, one = steps()): Promise<Outcome> =>
  takeAllowed(state, { ...update, ...changes }, one);

/** As the updater does. */
async function takeAllowed(state: UpdateState, given: Update, one: UpdateSteps): Promise<Outcome> {
  return (await one.allows(state, given, stop.signal)) ? await one.take(state, given, stop.signal) : undefined;
}

/** Takes a step and lets time pass; 'waits' when it has not ended by then. */
async function watch(ms: number, step: Promise<Outcome>): Promise<Outcome | 'waits'> {
  let ended: Outcome | 'waits' = 'waits';
  step.then((outcome) => {
    ended = outcome;
  });
  await clock.advance(ms);
  return ended;
}

const current = (version: string): Promise<void> =>
  updateFiles(disk).link(`releases/${version}`, join(paths.home, 'current'));
const text = (name: string): string =>
  disk.paths.includes(join(paths.firmware, name)) ? disk.contentOf(join(paths.firmware, name)).toString() : '';

describe('under lockout', () => {
  const locked = (): UpdateSteps => steps({ locked: () => true });

  it.each(['verified', 'requesting', 'applying'] as const)(
    'what the platform offered is not begun: %s',
    async (state) => {
      await current('1.0.0');
      disk.put(IMAGE, image);
      const step = take(state, { title: state === 'applying' ? 'motor' : 'turnstone' }, locked());
      expect(await watch(3_600_000, step)).toBe('waits');
      expect([text('request'), handled]).toEqual(['', []]);
      stop.abort();
      await clock.advance(0);
      expect(await step).toBeUndefined();
    },
  );

  it('what is no beginning goes on', async () => {
    disk.put(
      join(paths.guard, 'result'),
      guardLines({ id: 'one', outcome: 'confirmed', version: '2.0.0', reason: '' }),
    );
    expect(await take('requesting', {}, locked())).toEqual({ event: 'done' });
    expect(await take('confirming', {}, locked())).toEqual({ event: 'done' });
    offered = undefined;
    expect(await take('verified', {}, locked())).toEqual({ event: 'withdrawn' });
  });

  it('what a person gave is begun', async () => {
    await current('1.0.0');
    const { offer: _, ...given } = update;
    expect(await takeAllowed('verified', { ...given, source: 'file' }, locked())).toEqual({ event: 'ours' });
    expect(await takeAllowed('requesting', { ...given, source: 'kept' }, locked())).toEqual({ event: 'done' });
    expect(text('request')).toContain('swap');
  });
});

describe('the download', () => {
  it('is none while no update is under way', async () => {
    await expect(take('idle')).rejects.toMatchObject({ code: 'firmware/no-step' });
  });

  it('puts the image where it is expected, and says how far it is', async () => {
    expect(await take('downloading')).toEqual({ event: 'done' });
    expect(disk.contentOf(IMAGE).equals(image)).toBe(true);
    expect(received.at(-1)).toBe(image.length);
    expect(asked).toEqual([{ title: 'turnstone', version: '2.0.0', sizeBytes: firmware.chunkBytes, chunk: 0 }]);
  });

  it('of software asks its own endpoint, and keeps the image apart', async () => {
    const one = steps({ kind: 'software' });
    await take('downloading', {}, one);
    expect(asked).toMatchObject([{ kind: 'software' }]);
    expect(one.image).toBe(join(paths.firmware, 'software-image'));
  });

  it('keeps to the rate and the hours of the configuration', async () => {
    const slow = steps({}, { rateLimitBytesPerS: 100 } as Partial<FirmwareConfig>);
    expect(await watch(1_000, take('downloading', {}, slow))).toBe('waits');
    stop.abort();
    await clock.advance(0);
    stop = new AbortController();
    const local = new Date(clock.wallMs() + 2 * 3_600_000).toTimeString().slice(0, 5);
    const later = new Date(clock.wallMs() + 3 * 3_600_000).toTimeString().slice(0, 5);
    const asks = asked.length;
    expect(
      await watch(
        60_000,
        take('downloading', {}, steps({}, { hours: { from: local, to: later } } as Partial<FirmwareConfig>)),
      ),
    ).toBe('waits');
    expect(asked).toHaveLength(asks);
    expect(waits).toBe(`for ${local}, when the hours for downloads begin`);
  });

  it('fails with what is wrong, and with nothing to download', async () => {
    expect(await take('downloading', { offer: { ...offer, sizeBytes: 10 ** 10 } })).toMatchObject({
      event: 'failed',
      reason: expect.stringContaining('larger than'),
    });
    const { offer: _, ...without } = update;
    expect(await steps().take('downloading', without, stop.signal)).toEqual({
      event: 'failed',
      reason: 'there is nothing to download',
    });
  });

  it('is withdrawn when another is offered before it or during it, but not while nothing is known of offers', async () => {
    offered = 'g';
    expect(await take('downloading')).toEqual({ event: 'withdrawn' });
    expect(asked).toEqual([]);
    offered = undefined;
    expect(await take('downloading')).toEqual({ event: 'withdrawn' });
    offered = 'unread';
    expect(await take('downloading')).toEqual({ event: 'done' });
    const hanging = steps({ deviceApi: { getAttributes: never, getFirmware: (_wanted, signal) => until(signal) } });
    const step = take('downloading', { offer: { ...offer, fingerprint: 'other' } }, hanging);
    await clock.advance(0);
    hanging.withdraw();
    expect(await step).toEqual({ event: 'withdrawn' });
    hanging.withdraw();
  });

  it('ends without an outcome when the agent stops', async () => {
    const hanging = steps({ deviceApi: { getAttributes: never, getFirmware: (_wanted, signal) => until(signal) } });
    const step = take('downloading', {}, hanging);
    await clock.advance(0);
    stop.abort(new Error('stop'));
    expect(await step).toBeUndefined();
  });

  it('whose file the platform refuses though it offers it goes on for some minutes, and fails with what was refused', async () => {
    const refuse = () => Promise.reject(new PlatformError('refused', 'not assigned', { status: 400 }));
    const deviceApi = { getAttributes: never, getFirmware: refuse };
    const refused = steps({ deviceApi }, { downloadDeadlineMs: 3_600_000 });
    const step = take('downloading', {}, refused);
    expect(await watch(5_000, step)).toBe('waits');
    expect(offersRead).toBeGreaterThan(1);
    expect(await watch(1_200_000, step)).toEqual({ event: 'failed', reason: expect.stringContaining('not assigned') });
  });

  function never(): Promise<never> {
    return Promise.reject(new Error('not asked for'));
  }
  function until(signal: AbortSignal): Promise<never> {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  }
});

describe('the verification', () => {
  it('takes an image that is announced, signed, and fits', async () => {
    disk.put(IMAGE, image);
    expect(await take('downloaded')).toEqual({ event: 'done' });
  });

  it.each([
    ['has another sum', { offer: { ...offer, checksum: '00' } }, {}, /checksum/],
    ['is for another machine', {}, { arch: 'x64' }, /for arm64/],
    ['holds another version', { version: '2.0.1' }, {}, /offered was 2\.0\.1/],
  ])('refuses one that %s', async (_what, changes, other, reason) => {
    disk.put(IMAGE, image);
    expect(await take('downloaded', changes, steps(other))).toEqual({
      event: 'failed',
      reason: expect.stringMatching(reason),
    });
  });

  it('refuses one that is not signed, announced or given by a person, unless signatures are switched off', async () => {
    const unsigned = makeImage({ release: '2.0.0', arch: 'arm64' });
    disk.put(IMAGE, unsigned.bytes);
    const { offer: _, ...given } = update;
    const verify = (one: UpdateSteps) => one.take('downloaded', { ...given, source: 'file' }, stop.signal);
    expect(await verify(steps())).toEqual({ event: 'failed', reason: 'the release is not signed' });
    expect(await verify(steps({}, { requireSignature: false }))).toEqual({ event: 'done' });
  });

  it('looks into no archive of something attached', async () => {
    const content = Buffer.from('a program');
    disk.put(
      IMAGE,
      Buffer.concat([content, signatureFrame(createHash('sha256').update(content).digest(), signer.privateKey)]),
    );
    const { offer: _, ...given } = update;
    expect(await steps().take('downloaded', { ...given, title: 'motor' }, stop.signal)).toEqual({ event: 'done' });
  });

  it('fails without an image, and says nothing when the agent stops', async () => {
    expect(await take('downloaded')).toMatchObject({ event: 'failed', reason: expect.stringContaining('ENOENT') });
    stop.abort();
    expect(await take('downloaded')).toBeUndefined();
  });
});

describe('a verified image', () => {
  it('goes its way by what it is for, unless another is offered by now', async () => {
    expect(await take('verified')).toEqual({ event: 'ours' });
    expect(await take('verified', { title: 'motor' })).toEqual({ event: 'theirs' });
    offered = undefined;
    expect(await take('verified')).toEqual({ event: 'withdrawn' });
    offered = 'g';
    expect(await take('verified')).toEqual({ event: 'withdrawn' });
    const { offer: _, ...given } = update;
    expect(await steps().take('verified', given, stop.signal)).toEqual({ event: 'ours' });
  });

  it('waits until the platform has said since the start that it still offers it', async () => {
    offered = 'unread';
    const step = take('verified');
    expect(await watch(29_999, step)).toBe('waits');
    expect(await watch(1, step)).toBeUndefined();
    expect(offersRead).toBe(1);
  });
});

describe('the request for a swap', () => {
  it.each([
    ['platform', 'image'],
    ['file', 'image'],
    ['kept', 'kept'],
  ] as const)('of a release from %s names the source %s', async (source, named) => {
    await current('1.0.0');
    expect(await take('requesting', { source })).toEqual({ event: 'done' });
    expect(text('request')).toContain(`request=swap\nid=one\nversion=2.0.0\nsource=${named}\n`);
  });

  it('is not left again when the answer is there already', async () => {
    await current('1.0.0');
    disk.put(
      join(paths.guard, 'result'),
      guardLines({ id: 'one', outcome: 'refused', version: '2.0.0', reason: 'no' }),
    );
    expect(await take('requesting')).toEqual({ event: 'done' });
    expect(text('request')).toBe('');
  });

  it('is not left where no release is installed', async () => {
    expect(await take('requesting')).toEqual({
      event: 'failed',
      reason: 'this agent does not run from an installed release',
    });
    expect(text('request')).toBe('');
  });
});

describe('the trial', () => {
  const onTrial = (): void =>
    disk.put(join(paths.guard, 'trial'), guardLines({ id: 'one', version: '2.0.0', previous: '1.0.0' }));

  it('is over when the guard says so', async () => {
    for (const outcome of ['rolled-back', 'confirmed'] as const) {
      disk.put(
        join(paths.guard, 'result'),
        guardLines({ id: 'one', outcome, version: '2.0.0', reason: 'three starts' }),
      );
      expect(await take('trial', {}, steps({ release: releaseOf('2.0.0') }))).toEqual(
        outcome === 'confirmed' ? { event: 'confirmed' } : { event: 'rolled-back', reason: 'three starts' },
      );
    }
  });

  it('is over when another release runs', async () => {
    onTrial();
    expect(await take('trial')).toEqual({ event: 'rolled-back', reason: 'release 1.0.0 runs in its place' });
  });

  it('is watched otherwise', async () => {
    onTrial();
    await current('2.0.0');
    const vitals: Vitals = { uploaded: true, reachable: true };
    const step = take('trial', {}, steps({ release: releaseOf('2.0.0', () => vitals) }));
    expect(await watch(firmware.confirm.healthyForMs - 1_000, step)).toBe('waits');
    expect(await watch(2_000, step)).toEqual({ event: 'healthy' });
  });

  it('is confirmed in a file that everybody can read', async () => {
    expect(await take('confirming')).toEqual({ event: 'done' });
    expect(text('confirmed')).toBe('id=one\n');
    expect((await disk.facts(join(paths.firmware, 'confirmed')))?.mode).toBe(0o644);
  });

  it('that is given up asks for the release before, and again after ten minutes', async () => {
    onTrial();
    await current('2.0.0');
    const step = take('giving-up', { from: '0.9.0' }, steps({ release: releaseOf('2.0.0') }));
    expect(await watch(10 * 60_000 - 1, step)).toBe('waits');
    expect(text('request')).toContain('request=swap\nid=one\nversion=1.0.0\nsource=kept\n');
    expect(await watch(1, step)).toEqual({ event: 'unanswered' });
    expect(restarts).toEqual([]);
  });

  it('that is given up goes to where it came from when the guard knows of no trial', async () => {
    await current('2.0.0');
    await watch(0, take('giving-up', { from: '0.9.0' }, steps({ release: releaseOf('2.0.0') })));
    expect(text('request')).toContain('version=0.9.0');
  });

  it('that is given up lacks only the restart when the helper has gone back already', async () => {
    onTrial();
    await current('1.0.0');
    const step = take('giving-up', {}, steps({ release: releaseOf('2.0.0') }));
    expect(await watch(0, step)).toBe('waits');
    expect([restarts, text('request')]).toEqual([['release 1.0.0 is to start'], '']);
    stop.abort();
    expect(await step).toBeUndefined();
  });

  it('that is given up has gone back once the old release runs, with the reason it was given up for', async () => {
    expect(await take('giving-up', { reason: 'no upload' })).toEqual({ event: 'rolled-back', reason: 'no upload' });
    expect(await take('giving-up')).toEqual({ event: 'rolled-back' });
  });
});

describe("an attached device's command", () => {
  const content = Buffer.from('program of a motor');
  const motor = { title: 'motor', version: '7' };
  beforeEach(() => {
    disk.put(IMAGE, signedProgram(content.toString()));
  });
  function signedProgram(program: string): Buffer {
    const bytes = Buffer.from(program);
    return Buffer.concat([bytes, signatureFrame(createHash('sha256').update(bytes).digest(), signer.privateKey)]);
  }

  it('gets the file without its signature, for its own kind of package', async () => {
    expect(await take('applying', motor)).toEqual({ event: 'done' });
    expect(handled).toEqual([
      {
        program: '/bin/true',
        file: join(paths.firmware, 'payload'),
        title: 'motor',
        version: '7',
        content: content.toString(),
      },
    ]);
  });

  it('of both kinds of package at once gets the file that is meant for it', async () => {
    disk.put(join(paths.firmware, 'software-image'), signedProgram('program of a panel'));
    const seen: string[] = [];
    const slow: UpdaterDeps['runHandler'] = async (_handler, { file }) => {
      await clock.sleep(1_000, stop.signal);
      seen.push(disk.contentOf(file).toString());
    };
    const panel = watch(
      0,
      steps({ kind: 'software', runHandler: slow }).take('applying', { ...update, ...motor }, stop.signal),
    );
    const [, both] = await Promise.all([
      panel,
      take('applying', motor, steps({ runHandler: slow })),
      clock.advance(2_000),
    ]);
    expect(both).toEqual({ event: 'done' });
    expect(seen.sort()).toEqual(['program of a motor', 'program of a panel']);
  });

  it('is not run with a file that is not signed any more', async () => {
    disk.put(IMAGE, content);
    expect(await take('applying', motor)).toEqual({ event: 'failed', reason: 'the release is not signed' });
    expect(handled).toEqual([]);
  });

  it('is begun three times at most, and not when it is configured no more', async () => {
    expect(await take('applying', { ...motor, attempts: 3 })).toEqual({ event: 'done' });
    expect(await take('applying', { ...motor, attempts: 4 })).toEqual({
      event: 'failed',
      reason: 'its command was cut short too often',
    });
    expect(await take('applying', { title: 'toaster' })).toEqual({
      event: 'failed',
      reason: 'nothing here is called "toaster" any more',
    });
    expect(handled).toHaveLength(1);
  });

  it('fails with its own words, and is begun again when it was the agent that stopped', async () => {
    const one = steps({ runHandler: () => Promise.reject(new Error('no target')) });
    expect(await take('applying', motor, one)).toEqual({ event: 'failed', reason: 'no target' });
    stop.abort();
    expect(await take('applying', motor, one)).toBeUndefined();
  });
});

describe('an update that is over', () => {
  it('leaves nothing behind that the next could take for its own', async () => {
    for (const name of ['image', 'image.progress', 'payload', 'firmware-update.json'])
      disk.put(join(paths.firmware, name), 'x');
    disk.put(
      join(paths.firmware, 'request'),
      guardLines({ request: 'swap', id: 'one', version: '2.0.0', source: 'image' }),
    );
    expect(await take('failed')).toEqual({ event: 'done' });
    expect(disk.paths.filter((path) => path.startsWith(paths.firmware))).toEqual([
      join(paths.firmware, 'firmware-update.json'),
    ]);
    disk.cutPower(() => false);
    expect(disk.paths).not.toContain(IMAGE);
  });

  it.each([
    ['software', ['image', 'image.progress', 'payload']],
    ['firmware', ['software-image', 'software-image.progress', 'software-payload']],
  ] as const)('of %s takes nothing of the other kind away', async (kind, others) => {
    for (const name of ['image', 'image.progress', 'payload'])
      for (const one of [name, `software-${name}`]) disk.put(join(paths.firmware, one), 'x');
    await take('updated', {}, steps({ kind }));
    expect(disk.paths.filter((path) => path.startsWith(paths.firmware))).toEqual(
      others.map((name) => join(paths.firmware, name)),
    );
  });

  it.each([
    guardLines({ request: 'reboot', id: 'other' }),
    guardLines({ request: 'swap', id: 'other', version: '3.0.0', source: 'image' }),
    'no request',
  ])('leaves a request that is not its own: %j', async (left) => {
    disk.put(join(paths.firmware, 'request'), left);
    await take('updated');
    expect(text('request')).toBe(left);
  });
});

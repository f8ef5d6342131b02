/** The updater as it walks: what is on disk when something is told, what its status says meanwhile, and what it does after a fault. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { FirmwareUpdater } from '../../../src/firmware/firmware-updater.ts';
import { guardLines, releasePaths } from '../../../src/firmware/guard-state.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import type { UpdaterDeps } from '../../../src/firmware/updater-deps.ts';
import { silentLog } from '../../../src/host/log.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { makeImage } from '../../support/release-image.ts';

const paths = releasePaths('/');
const JOURNAL = join(paths.firmware, 'firmware-update.json');
const program = Buffer.from('program of a motor');
const { firmware } = configSchema.parse({
  version: 1,
  platform: { url: 'http://127.0.0.1:1', accessToken: 'token' },
  firmware: { requireSignature: false, handlers: [{ title: 'motor', program: '/bin/true' }] },
});

let disk: MemoryFiles;
let clock: FakeClock;
let stop: AbortController;
let told: { values: object; state: string | undefined }[];
let journal: () => {
  state: string;
  update?: Record<string, unknown>;
  history: object[];
  settledOffer?: string;
  confirmedVersion?: string;
};
let shared: JsonObject;
let errors: string[];
let running: Promise<void>;

beforeEach(() => {
  disk = new MemoryFiles();
  clock = new FakeClock({ jitter: 0 });
  stop = new AbortController();
  told = [];
  errors = [];
  shared = {};
  running = Promise.resolve();
  journal = () => JSON.parse(disk.contentOf(JOURNAL).toString());
});
afterEach(async () => {
  stop.abort();
  await clock.advance(0);
  await running;
});

function offerOf(changes: JsonObject = {}): JsonObject {
  const checksum = createHash('sha256').update(program).digest('hex');
  const fields: JsonObject = { title: 'motor', version: '7', checksum, size: program.length, ...changes };
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [`fw_${key}`, value]));
}

function deps(changes: Partial<UpdaterDeps> = {}): UpdaterDeps {
  return {
    kind: 'firmware',
    config: firmware,
    files: updateFiles(disk),
    paths,
    clock,
    log: { ...silentLog, error: (_fields: object, message: string) => void errors.push(message) },
    arch: process.arch,
    release: {
      runningVersion: '2.0.0',
      vitals: () => ({ uploaded: true, reachable: true }),
      requestRestart: () => {},
    },
    deviceApi: {
      getAttributes: async () => ({ client: {}, shared, empty: Object.keys(shared).length === 0 }),
      getFirmware: async () => ({
        lengthBytes: program.length,
        stream: (async function* () {
          yield program;
        })(),
      }),
    },
    getUrl: () => Promise.reject(new Error('no file lies elsewhere')),
    report: async (values) =>
      void told.push({ values, state: disk.paths.includes(JOURNAL) ? journal().state : undefined }),
    runHandler: async () => {},
    newId: () => 'fresh',
    locked: () => false,
    onWait: () => {},
    ...changes,
  };
}

async function start(changes: Partial<UpdaterDeps> = {}): Promise<FirmwareUpdater> {
  const updater = await FirmwareUpdater.open(deps(changes));
  running = updater.run(stop.signal);
  await clock.advance(0);
  return updater;
}

/** Lets the updater go on until nothing moves any more. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 40; turn += 1) await clock.advance(0);
}

/** The same for what real threads work on: an archive is decompressed. */
async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; turn < 5_000 && !isSo(); turn += 1) {
    await clock.advance(0);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(isSo()).toBe(true);
}

const held = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

describe('under lockout', () => {
  let locked: boolean;
  let waits: (string | undefined)[];
  let ran: number;
  const runHandler = async (): Promise<void> => {
    ran += 1;
  };
  const startLocked = (): Promise<FirmwareUpdater> => {
    [locked, waits, ran] = [true, [], 0];
    return start({ locked: () => locked, onWait: (why) => void waits.push(why), runHandler });
  };
  const WHY = 'the machine is locked out: someone works on it';

  it('an offer is downloaded and verified, and waits for its end, which is said', async () => {
    const updater = await startLocked();
    updater.considerOffer(offerOf());
    await settle();
    await clock.advance(3_600_000);
    expect([updater.status.state, updater.status.waits, waits, ran]).toEqual([
      'verified',
      WHY,
      [`the update to motor 7 waits: ${WHY}`],
      0,
    ]);
    locked = false;
    await clock.advance(5_000);
    await settle();
    expect([updater.status.history.length, updater.status.waits, waits.at(-1), ran]).toEqual([
      1,
      undefined,
      undefined,
      1,
    ]);
  });

  it('an offer that is withdrawn meanwhile is let go of', async () => {
    const updater = await startLocked();
    updater.considerOffer(offerOf());
    await settle();
    updater.considerOffer({});
    await clock.advance(5_000);
    await settle();
    expect([updater.status.state, updater.status.waits, ran]).toEqual(['idle', undefined, 0]);
  });

  describe('what waits unbegun and a person on site who wants something else', () => {
    const never = new AbortController().signal;
    const back = { kind: 'back', version: '1.0.0' } as const;
    let ids: number;
    const waiting = async (changes: Partial<UpdaterDeps> = {}): Promise<FirmwareUpdater> => {
      [locked, ids] = [true, 0];
      disk.put('/opt/turnstone/releases/1.0.0/node', 'x');
      const updater = await start({ locked: () => locked, newId: () => `id-${++ids}`, ...changes });
      updater.considerOffer(offerOf());
      await settle();
      expect(updater.status.waits).toBe(WHY);
      return updater;
    };

    it('it gives way at once, and is taken up again afterwards', async () => {
      const updater = await waiting();
      const begun = updater.begin(back, never);
      await settle();
      await begun;
      await until(() => updater.status.history.length === 1 && updater.status.state === 'verified');
      expect(updater.status).toMatchObject({ waits: WHY, history: [{ title: 'turnstone', version: '1.0.0' }] });
      locked = false;
      await clock.advance(5_000);
      await until(() => updater.status.history.length === 2);
      expect(updater.status.history[0]).toMatchObject({ title: 'motor', outcome: 'UPDATED' });
    });

    it('also to a file, whose copy takes the place of its image, and also where the platform has said nothing since the start', async () => {
      await waiting();
      stop.abort();
      await running;
      stop = new AbortController();
      const updater = await start({ locked: () => locked });
      await settle();
      expect(updater.status).toMatchObject({ state: 'verified', waits: WHY });
      disk.put('/media/release', makeImage({ release: '3.0.0' }).bytes);
      const begun = updater.begin({ kind: 'file', path: '/media/release' }, never);
      await until(() => updater.status.history.length > 0);
      await begun;
      expect(updater.status.history).toMatchObject([
        { version: '3.0.0', reason: expect.stringContaining('installed release') },
      ]);
    });

    it('it keeps its image where they cannot have what they want', async () => {
      const updater = await waiting();
      await expect(updater.begin({ kind: 'back', version: '9.9.9' }, never)).rejects.toMatchObject({
        code: 'firmware/no-release',
      });
      disk.put('/media/release', 'no release');
      await expect(updater.begin({ kind: 'file', path: '/media/release' }, never)).rejects.toMatchObject({
        code: 'firmware/bad-archive',
      });
      locked = false;
      await clock.advance(5_000);
      await settle();
      expect(updater.status.history).toMatchObject([{ title: 'motor', outcome: 'UPDATED' }]);
    });

    it('it gives way also when a disk does not take that at once', async () => {
      const updater = await waiting();
      disk.faults = {
        fail: (operation, at) => (operation === 'write' && at.startsWith(JOURNAL) ? { code: 'ENOSPC' } : undefined),
      };
      const begun = updater.begin(back, never);
      await settle();
      disk.faults = {};
      await clock.advance(10_000);
      await begun;
      await until(() => updater.status.history.length === 1);
      expect(updater.status.history).toMatchObject([{ version: '1.0.0' }]);
    });

    it('it does not once it has begun to be installed, which is said; nor when the lockout ends while they are heard', async () => {
      const updater = await waiting({ runHandler: (_handler, _image, signal) => held(signal) });
      const free = Promise.withResolvers<void>();
      disk.faults = {
        delay: (operation, at) => (operation === 'list' && at.endsWith('releases') ? free.promise : undefined),
      };
      const begun = updater.begin(back, never).catch((error: unknown) => error);
      locked = false;
      await clock.advance(5_000);
      await settle();
      free.resolve();
      expect(await begun).toMatchObject({ code: 'firmware/busy', message: 'another update is under way' });
      stop.abort();
      await running;
      stop = new AbortController();
      locked = true;
      const again = await start({ locked: () => locked });
      await settle();
      await expect(again.begin(back, never)).rejects.toThrow(`another update is under way, and waits: ${WHY}`);
    });
  });

  it('a command that a stop cut short waits through any number of restarts, and only what is begun counts as a try', async () => {
    const runs: boolean[] = [];
    locked = false;
    const runHandler: UpdaterDeps['runHandler'] = (_handler, _image, signal) => {
      runs.push(locked);
      return runs.length === 1 ? held(signal) : Promise.resolve();
    };
    const again = async (): Promise<FirmwareUpdater> => {
      stop.abort();
      await running;
      stop = new AbortController();
      const updater = await start({ locked: () => locked, runHandler });
      updater.considerOffer(offerOf());
      await settle();
      return updater;
    };
    await again();
    locked = true;
    for (let restart = 0; restart < 5; restart += 1)
      expect((await again()).status).toMatchObject({ state: 'applying', waits: WHY, history: [] });
    locked = false;
    const { status } = await again();
    expect([runs, status.state, status.history.map(({ outcome }) => outcome)]).toEqual([
      [false, false],
      'idle',
      ['UPDATED'],
    ]);
  });
});

describe('what is told', () => {
  it('is on the disk before', async () => {
    const updater = await start();
    updater.considerOffer(offerOf());
    await settle();
    const states = told.map(({ values, state }) => [(values as Record<string, unknown>).fw_state, state]);
    expect(states).toEqual([
      [undefined, undefined],
      ['DOWNLOADING', 'downloading'],
      ['DOWNLOADED', 'downloaded'],
      ['VERIFIED', 'verified'],
      ['UPDATING', 'applying'],
      ['UPDATED', 'updated'],
    ]);
    expect(told[0]?.values).toEqual({ current_fw_title: 'turnstone', current_fw_version: '2.0.0' });
    expect(told.at(-1)?.values).toEqual({ fw_state: 'UPDATED', current_fw_title: 'motor', current_fw_version: '7' });
  });

  it('at every start is what runs, and where the last run left off', async () => {
    disk.put(JOURNAL, JSON.stringify({ format: 'turnstone-firmware-journal', version: 1, ...left('applying') }));
    await start({ runHandler: (_handler, _image, signal) => held(signal) });
    await settle();
    expect(told.map(({ values }) => values)).toEqual([
      { current_fw_title: 'turnstone', current_fw_version: '2.0.0' },
      { fw_state: 'UPDATING' },
      { fw_state: 'FAILED', fw_error: expect.stringContaining('ENOENT') },
    ]);
  });

  it('of software is nothing before something happens', async () => {
    await start({ kind: 'software' });
    await settle();
    expect(told).toEqual([]);
  });

  it('is told again after ten seconds when it could not be, the start only until it was', async () => {
    let refusals = 2;
    const taken: object[] = [];
    const report: UpdaterDeps['report'] = async (values) => {
      if (refusals-- > 0) throw new Error('the outbox is closed');
      taken.push(values);
    };
    await start({ report });
    await clock.advance(19_999);
    expect([taken, errors]).toEqual([[], ['a step of the update was cut short', 'a step of the update was cut short']]);
    await clock.advance(60_000);
    expect(taken).toHaveLength(1);
  });
});

describe('the end of an update', () => {
  it.each(['UPDATED', 'FAILED'])('%s is told again until it was, and then no more', async (end) => {
    let refusals = 3;
    const report: UpdaterDeps['report'] = async (values) => {
      if (values.fw_state === end && refusals-- > 0) throw new Error('the outbox is full');
      told.push({ values, state: undefined });
    };
    const runHandler: UpdaterDeps['runHandler'] = async () => {
      if (end === 'FAILED') throw new Error('no target');
    };
    const updater = await start({ report, runHandler });
    updater.considerOffer(offerOf());
    await settle();
    await clock.advance(29_999);
    expect(told.map(({ values }) => values)).not.toContainEqual(expect.objectContaining({ fw_state: end }));
    expect(updater.status.history).toEqual([]);
    await clock.advance(1);
    await settle();
    await clock.advance(60_000);
    expect(told.filter(({ values }) => 'fw_state' in values && values.fw_state === end)).toHaveLength(1);
    expect(updater.status).toMatchObject({ state: 'idle', history: [{ outcome: end }] });
  });

  it('is not waited for by a release that has to be given up, because its outbox takes nothing', async () => {
    lay('giving-up', { title: 'turnstone', version: '2.0.0', from: '1.0.0' });
    disk.put(join(paths.guard, 'trial'), guardLines({ id: 'one', version: '2.0.0', previous: '1.0.0' }));
    await updateFiles(disk).link('releases/2.0.0', join(paths.home, 'current'));
    await start({ report: () => Promise.reject(new Error('the outbox is full')) });
    await settle();
    expect(disk.contentOf(join(paths.firmware, 'request')).toString()).toContain('version=1.0.0');
  });

  it('is told by the next run when this one could not', async () => {
    lay('failed', { reason: 'no target' });
    await start();
    await settle();
    expect(told.at(-1)?.values).toEqual({ fw_state: 'FAILED', fw_error: 'no target' });
    expect(journal().state).toBe('idle');
  });
});

describe('what nobody needs any more', () => {
  const images = (): string[] => disk.paths.filter((path) => path.startsWith(paths.firmware) && path !== JOURNAL);

  it('goes with an offer that is withdrawn', async () => {
    const getFirmware: UpdaterDeps['deviceApi']['getFirmware'] = async (_wanted, signal) => ({
      lengthBytes: program.length,
      stream: (async function* () {
        yield program.subarray(0, 5);
        await held(signal);
      })(),
    });
    const updater = await start({ deviceApi: { ...deps().deviceApi, getFirmware } });
    updater.considerOffer(offerOf());
    await settle();
    expect(images()).toContain(join(paths.firmware, 'image'));
    updater.considerOffer({});
    await settle();
    expect([updater.status.state, images()]).toEqual(['idle', []]);
  });

  it('goes with an offer that was withdrawn while the agent was down, once the platform says so, and by a person who asks', async () => {
    const getFirmware: UpdaterDeps['deviceApi']['getFirmware'] = (_wanted, signal) => held(signal);
    const before = await start({ deviceApi: { ...deps().deviceApi, getFirmware } });
    before.considerOffer(offerOf());
    await settle();
    stop.abort();
    await running;
    for (const tell of [
      (updater: FirmwareUpdater) => updater.considerOffer({}),
      (updater: FirmwareUpdater) => updater.check(stop.signal),
    ]) {
      stop = new AbortController();
      const kept = disk.contentOf(JOURNAL);
      const getAttributes: UpdaterDeps['deviceApi']['getAttributes'] = async ({ sharedKeys }) => ({
        client: {},
        shared: {},
        // With a client attribute among what is asked for.
        empty: sharedKeys !== undefined,
      });
      const updater = await start({ deviceApi: { getFirmware, getAttributes } });
      await settle();
      expect(updater.status.state).toBe('downloading');
      await tell(updater);
      await settle();
      expect([updater.status.state, images()]).toEqual(['idle', []]);
      stop.abort();
      await running;
      disk.put(JOURNAL, kept);
    }
  });

  it.each([
    ['firmware', ['image', 'image.progress', 'payload', 'handed-over']],
    ['software', ['software-image', 'software-image.progress', 'software-payload']],
  ] as const)('of %s goes at the start, but for what an update needs', async (kind, names) => {
    for (const name of names) disk.put(join(paths.firmware, name), 'x');
    disk.put(join(paths.firmware, 'request'), 'request=reboot\nid=7\n');
    await start({ kind });
    expect(images()).toEqual([join(paths.firmware, 'request')]);
    stop.abort();
    await running;
    if (kind === 'software') return;
    lay('downloaded');
    disk.put(join(paths.firmware, 'image'), program);
    await FirmwareUpdater.open(deps());
    expect(images()).toContain(join(paths.firmware, 'image'));
  });

  it('keeps no update from beginning when it cannot be removed', async () => {
    disk.put(join(paths.firmware, 'payload'), 'x');
    disk.faults = {
      fail: (operation, path) => (operation === 'unlink' && path.endsWith('payload') ? { code: 'EUCLEAN' } : undefined),
    };
    expect((await start()).status).toEqual({ running: '2.0.0', state: 'idle', history: [] });
  });
});

describe('a start on a disk that does not answer', () => {
  it.each([
    ['the journal', JOURNAL, 'read', 'EIO'],
    ['the folder, a file in its place', paths.firmware, 'open', 'EEXIST'],
    ['a spoilt journal, to be set aside on a disk that became read-only', JOURNAL, 'rename', 'EROFS'],
  ])('lives without updates, says so, and goes on when it can: %s', async (_what, path, broken, code) => {
    lay('failed', { reason: 'no target' });
    if (broken === 'rename') disk.put(JOURNAL, 'spoilt');
    disk.faults = { fail: (operation, at) => (operation === broken && at === path ? { code } : undefined) };
    const updater = await start();
    expect(updater.status).toMatchObject({ state: 'idle', fault: expect.stringContaining(code), history: [] });
    updater.considerOffer(offerOf());
    const never = new AbortController().signal;
    await expect(updater.begin({ kind: 'file', path: '/media/release' }, never)).rejects.toMatchObject({
      code: 'firmware/not-ready',
      recovery: 'retry',
    });
    await expect(updater.check(never)).rejects.toMatchObject({ code: 'firmware/not-ready' });
    await clock.advance(5 * 60_000);
    expect([told, errors]).toEqual([[], expect.arrayContaining(['no update is possible while this cannot be read'])]);
    expect(errors.filter((message) => message.startsWith('no update'))).toHaveLength(1);
    disk.faults = {};
    await clock.advance(60_000);
    await settle();
    expect(updater.status).not.toMatchObject({ fault: expect.anything() });
    expect(updater.status.history.map(({ outcome }) => outcome)).toEqual(
      broken === 'rename' ? ['UPDATED'] : ['UPDATED', 'FAILED'],
    );
  });
});

/** A journal in the middle of an update. */
function left(state: string, changes: object = {}): object {
  const update = {
    id: 'one',
    title: 'motor',
    version: '7',
    source: 'platform',
    from: '2.0.0',
    startedAtMs: 5,
    unanswered: 0,
    attempts: 0,
  };
  return { state, update: { ...update, ...changes }, history: [] };
}

const lay = (state: string, changes: object = {}): void =>
  disk.put(JOURNAL, JSON.stringify({ format: 'turnstone-firmware-journal', version: 1, ...left(state, changes) }));

describe('what is written before a step', () => {
  it("is that an attached device's command was begun", async () => {
    let attempts: unknown;
    const updater = await start({
      runHandler: async () => {
        attempts = journal().update?.attempts;
      },
    });
    updater.considerOffer(offerOf());
    await settle();
    expect(attempts).toBe(1);
  });

  it('is the boot in which the helper was asked, and how often it did not answer', async () => {
    lay('requesting', { title: 'turnstone', version: '3.0.0', source: 'kept' });
    await updateFiles(disk).link('releases/2.0.0', join(paths.home, 'current'));
    await start();
    await settle();
    expect(journal()).toMatchObject({
      state: 'swapping',
      update: { askedInBoot: 'boot-1', unanswered: 0, attempts: 0 },
    });
    await clock.advance(15 * 60_000 + 2_000);
    expect(journal()).toMatchObject({ state: 'swapping', update: { unanswered: 1 } });
    expect(disk.contentOf(join(paths.firmware, 'request')).toString()).toContain('version=3.0.0');
    await clock.advance(31 * 60_000);
    expect(journal()).toMatchObject({
      state: 'idle',
      history: [{ outcome: 'FAILED', reason: expect.stringContaining('does not answer') }],
    });
  });

  it('is not the boot for any other step', async () => {
    lay('applying');
    disk.put(join(paths.firmware, 'image'), program);
    await start({ runHandler: (_handler, _image, signal) => held(signal) });
    await settle();
    expect(journal().update).not.toMatchObject({ askedInBoot: expect.anything() });
    expect(journal().update?.attempts).toBe(1);
  });
});

describe('an end', () => {
  it('is remembered, the latest first, and settles its offer', async () => {
    const updater = await start();
    updater.considerOffer(offerOf());
    await settle();
    await clock.advance(1_000);
    updater.considerOffer(offerOf({ title: 'toaster' }));
    await settle();
    expect(updater.status.history).toEqual([
      {
        title: 'toaster',
        version: '7',
        from: 'unknown',
        outcome: 'FAILED',
        reason: 'nothing here is called "toaster"',
        startedAtMs: clock.wallMs(),
        endedAtMs: clock.wallMs(),
      },
      {
        title: 'motor',
        version: '7',
        from: 'unknown',
        outcome: 'UPDATED',
        startedAtMs: expect.any(Number),
        endedAtMs: clock.wallMs() - 1_000,
      },
    ]);
    expect(updater.status.offered).toEqual({ title: 'toaster', version: '7', settled: true });
    expect(journal().settledOffer).toMatch(/^[0-9a-f]{32}$/);
    expect(journal()).not.toMatchObject({ update: expect.anything() });
  });

  it('of something attached confirms no release; of the agent it does', async () => {
    const updater = await start();
    updater.considerOffer(offerOf());
    await settle();
    expect(updater.status).not.toMatchObject({ confirmed: expect.anything() });
    updater.considerOffer(offerOf({ title: 'turnstone', version: '2.0.0' }));
    await settle();
    expect(updater.status.confirmed).toBe('2.0.0');
    expect(journal().confirmedVersion).toBe('2.0.0');
  });

  it('by withdrawal leaves no trace', async () => {
    const getFirmware: UpdaterDeps['deviceApi']['getFirmware'] = (_wanted, signal) => held(signal);
    const updater = await start({ deviceApi: { ...deps().deviceApi, getFirmware } });
    updater.considerOffer(offerOf());
    await settle();
    expect(updater.status.state).toBe('downloading');
    updater.considerOffer({});
    await settle();
    expect(journal()).toMatchObject({ state: 'idle', history: [] });
    expect(journal()).not.toMatchObject({ settledOffer: expect.anything() });
    expect(updater.status).not.toMatchObject({ offered: expect.anything() });
  });
});

describe('the status', () => {
  it('shows an update under way', async () => {
    const getFirmware: UpdaterDeps['deviceApi']['getFirmware'] = async (_wanted, signal) => ({
      lengthBytes: program.length,
      stream: (async function* () {
        yield program.subarray(0, 5);
        await held(signal);
      })(),
    });
    const updater = await start({ deviceApi: { ...deps().deviceApi, getFirmware } });
    expect(updater.status).toEqual({ running: '2.0.0', state: 'idle', history: [] });
    updater.considerOffer(offerOf());
    expect(updater.status).toMatchObject({ state: 'idle', beginning: true, offered: { settled: false } });
    await settle();
    expect(updater.status).toMatchObject({
      state: 'downloading',
      reported: 'DOWNLOADING',
      update: { title: 'motor', version: '7', from: 'unknown' },
      receivedBytes: 5,
      sizeBytes: program.length,
      offered: { title: 'motor', version: '7', settled: false },
    });
    expect(updater.status).not.toMatchObject({ beginning: expect.anything() });
    updater.considerOffer({});
    await settle();
    expect(updater.status).toEqual({ running: '2.0.0', state: 'idle', history: [] });
  });

  it('says of an update what it is and no more: the address of its file may be a key by itself', async () => {
    const getFirmware: UpdaterDeps['deviceApi']['getFirmware'] = (_wanted, signal) => held(signal);
    const updater = await start({ deviceApi: { ...deps().deviceApi, getFirmware } });
    updater.considerOffer(offerOf({ url: 'https://files.example/motor?signature=fixture' }));
    await settle();
    expect(updater.status.update).toEqual({
      title: 'motor',
      version: '7',
      from: 'unknown',
      startedAtMs: expect.any(Number),
    });
    expect(JSON.stringify(updater.status)).not.toContain('fixture');
  });

  it('shows nothing of a download in any other state, and nothing to begin once its offer is settled', async () => {
    const updater = await start({ runHandler: (_handler, _image, signal) => held(signal) });
    updater.considerOffer(offerOf({ size: 0 }));
    await settle();
    expect(updater.status).toMatchObject({ state: 'applying', reported: 'UPDATING' });
    expect(updater.status).not.toMatchObject({ receivedBytes: expect.anything() });
    expect(updater.status).not.toMatchObject({ sizeBytes: expect.anything() });
    stop.abort();
    await running;
    stop = new AbortController();
    const again = await start();
    again.considerOffer(offerOf({ size: 0 }));
    await settle();
    expect(again.status).toMatchObject({ state: 'idle', offered: { settled: true } });
    expect(again.status).not.toMatchObject({ beginning: expect.anything() });
  });
});

describe("a person's wish", () => {
  const path = '/media/release';
  const wish = { kind: 'file', path } as const;
  const never = new AbortController().signal;

  it('is shown from the moment it is taken, and no other is taken then', async () => {
    disk.put(path, makeImage({ release: '3.0.0' }).bytes);
    const updater = await start();
    const begun = updater.begin(wish, never);
    expect(updater.status).toMatchObject({ state: 'idle', beginning: true });
    await expect(updater.begin(wish, never)).rejects.toMatchObject({ code: 'firmware/busy', recovery: 'retry' });
    await begun;
    expect(updater.status.beginning ?? updater.status.state).not.toBe('idle');
    await expect(updater.begin({ kind: 'back', version: '1.0.0' }, never)).rejects.toMatchObject({
      code: 'firmware/busy',
    });
    await until(() => updater.status.history.length === 1 && updater.status.state === 'idle');
    expect(updater.status.history).toMatchObject([
      { version: '3.0.0', outcome: 'FAILED', reason: expect.stringContaining('installed release') },
    ]);
    expect(updater.status).not.toMatchObject({ beginning: expect.anything() });
    disk.put('/opt/turnstone/releases/1.0.0/node', 'x');
    await expect(updater.begin({ kind: 'back', version: '1.0.0' }, never)).resolves.toBeUndefined();
  });

  it('is busy while an offer that has begun is still being written', async () => {
    disk.put(path, makeImage({ release: '3.0.0' }).bytes);
    const written = Promise.withResolvers<void>();
    const updater = await start();
    disk.faults = {
      delay: (operation, at) => (operation === 'write' && at.startsWith(JOURNAL) ? written.promise : undefined),
    };
    updater.considerOffer(offerOf());
    await settle();
    await expect(updater.begin(wish, never)).rejects.toMatchObject({ code: 'firmware/busy' });
    written.resolve();
    await settle();
    expect(updater.status.history).toMatchObject([{ version: '7', outcome: 'UPDATED' }]);
  });

  it('is begun once, also when its beginning could not be told', async () => {
    disk.put(path, makeImage({ release: '3.0.0' }).bytes);
    let refusals = 0;
    const report: UpdaterDeps['report'] = async (values) => {
      if ('fw_state' in values && refusals++ === 0) throw new Error('the outbox is full');
    };
    const updater = await start({ report });
    await updater.begin(wish, never);
    await until(() => updater.status.history.length === 1 && updater.status.state === 'idle');
    await clock.advance(60_000);
    expect(updater.status.history).toHaveLength(1);
    expect(updater.status).not.toMatchObject({ beginning: expect.anything() });
  });

  it('that is refused leaves no image behind', async () => {
    disk.put(path, 'no release');
    const updater = await start();
    await expect(updater.begin(wish, never)).rejects.toMatchObject({ code: 'firmware/bad-archive' });
    expect(disk.paths).toEqual([path]);
  });

  it('keeps an offer waiting while its file is copied', async () => {
    disk.put(path, makeImage({ release: '3.0.0' }).bytes);
    const free = Promise.withResolvers<void>();
    const updater = await start();
    disk.faults = { delay: (operation, at) => (operation === 'open' && at === path ? free.promise : undefined) };
    const begun = updater.begin(wish, never);
    updater.considerOffer(offerOf());
    await settle();
    expect(updater.status).toMatchObject({ state: 'idle', beginning: true });
    free.resolve();
    await begun;
    await until(() => updater.status.history.length === 2);
    expect(updater.status.history.map(({ version }) => version)).toEqual(['7', '3.0.0']);
  });

  it('that cannot be read is refused to the person, and the next is taken', async () => {
    const updater = await start();
    await expect(updater.begin(wish, never)).rejects.toThrow('ENOENT');
    expect(updater.status).toEqual({ running: '2.0.0', state: 'idle', history: [] });
    disk.put(path, makeImage({ release: '3.0.0' }).bytes);
    await expect(updater.begin(wish, never)).resolves.toBeUndefined();
  });
});

describe('asking the platform', () => {
  it('for the offer takes what it answers, but not an empty answer', async () => {
    const updater = await start();
    shared = offerOf();
    await updater.readOffer(stop.signal);
    expect(updater.status.offered).toMatchObject({ title: 'motor' });
    shared = {};
    await updater.readOffer(stop.signal);
    expect(updater.status.offered).toMatchObject({ title: 'motor' });
  });

  it('to try again forgets that the offer was settled, once, and only while nothing is under way', async () => {
    let attempts = 0;
    const runHandler: UpdaterDeps['runHandler'] = async (_handler, _image, signal) => {
      attempts += 1;
      if (attempts === 2) await held(signal);
    };
    const updater = await start({ runHandler });
    shared = offerOf();
    await updater.check(stop.signal);
    await settle();
    expect([attempts, journal().settledOffer]).toEqual([1, expect.any(String)]);
    await updater.check(stop.signal);
    expect(updater.status).toMatchObject({ beginning: true, offered: { settled: false } });
    await settle();
    expect([attempts, updater.status.state]).toEqual([2, 'applying']);
    expect(journal()).not.toMatchObject({ settledOffer: expect.anything() });
    await updater.check(stop.signal);
    expect(journal().state).toBe('applying');
  });

  it('to try again does nothing where nothing is offered', async () => {
    const updater = await start();
    await updater.check(stop.signal);
    expect(disk.paths).toEqual([]);
  });
});

describe('an offer that failed', () => {
  let attempts: number;
  let isWell: boolean;
  const runHandler = async (): Promise<void> => {
    attempts += 1;
    if (!isWell) throw new Error('no target');
  };
  const saved = (...keys: string[]): ReadonlySet<string> => new Set(keys);
  const startFailed = async (): Promise<FirmwareUpdater> => {
    [attempts, isWell] = [0, false];
    const updater = await start({ runHandler });
    updater.considerOffer(offerOf());
    await settle();
    expect([attempts, journal().state]).toEqual([1, 'idle']);
    await clock.advance(60_000);
    return updater;
  };

  it('is not tried again because it is read again, also not by the next run', async () => {
    const updater = await startFailed();
    updater.considerOffer(offerOf());
    updater.considerOffer(offerOf(), saved('rules.heat.when.below', 'sw_title'));
    await settle();
    stop.abort();
    await running;
    stop = new AbortController();
    const next = await start({ runHandler });
    next.considerOffer(offerOf());
    await settle();
    expect(attempts).toBe(1);
  });

  it.each<[string, readonly (readonly [JsonObject, ...string[]])[]]>([
    ['was deleted and set again', [[{}], [offerOf()]]],
    ['took turns with another', [[offerOf({ title: 'no such thing' })], [offerOf()]]],
    ['was deleted and set between two polls', [[offerOf(), 'fw_tag', 'fw_url']]],
    ['is saved again', [[offerOf(), 'fw_title', 'fw_version']]],
    ['has another tag', [[offerOf({ tag: 'again' })]]],
  ])('is tried again when it %s', async (_what, readings) => {
    const updater = await startFailed();
    for (const [offer, ...keys] of readings) updater.considerOffer(offer, saved(...keys));
    await settle();
    expect([attempts, journal().history.length]).toEqual([2, 2]);
  });

  it('is tried again when it was deleted, and set only after a restart', async () => {
    const updater = await startFailed();
    updater.considerOffer({});
    await settle();
    stop.abort();
    await running;
    stop = new AbortController();
    const next = await start({ runHandler });
    next.considerOffer(offerOf());
    await settle();
    expect(attempts).toBe(2);
  });

  it('is tried again when it was deleted while it was being installed', async () => {
    let fail = (): void => {};
    [attempts, isWell] = [0, false];
    const updater = await start({
      runHandler: () => {
        attempts += 1;
        return new Promise((_, reject) => {
          fail = () => reject(new Error('no target'));
        });
      },
    });
    updater.considerOffer(offerOf());
    await settle();
    updater.considerOffer({});
    fail();
    await settle();
    updater.considerOffer(offerOf());
    await settle();
    expect(attempts).toBe(2);
    fail();
  });

  it('is tried once however many notices tell of its one assignment', async () => {
    [attempts, isWell] = [0, false];
    const updater = await start({ runHandler });
    updater.considerOffer(offerOf(), saved('fw_tag', 'fw_url'));
    await settle();
    updater.considerOffer(offerOf(), saved('fw_title'));
    await settle();
    expect(attempts).toBe(1);
  });

  it('is told as installed, and not installed again, when it had been installed', async () => {
    const updater = await startFailed();
    isWell = true;
    updater.considerOffer(offerOf({ tag: 'again' }));
    await settle();
    told = [];
    updater.considerOffer({});
    updater.considerOffer(offerOf({ tag: 'again' }));
    await settle();
    expect([attempts, told.map(({ values }) => values)]).toEqual([
      2,
      [{ fw_state: 'UPDATED', current_fw_title: 'motor', current_fw_version: '7' }],
    ]);
  });
});

describe('offers that change with each reading', () => {
  it('begin a few times, then once a minute, which is said', async () => {
    let reads = 0;
    const getFirmware = (): never => {
      throw new PlatformError('refused', 'the platform does not offer it', { status: 400 });
    };
    const getAttributes = async () => {
      reads += 1;
      return { client: {}, shared: offerOf({ tag: `number ${reads}` }), empty: false };
    };
    const updater = await start({ deviceApi: { getAttributes, getFirmware } });
    await updater.readOffer(stop.signal);
    for (let second = 0; second < 20; second += 1) {
      await settle();
      await clock.advance(1_000);
    }
    expect(reads).toBeLessThan(20);
    expect(updater.status.waits).toMatch(/too many updates/);
    const before = reads;
    await clock.advance(60_000);
    await settle();
    expect(reads).toBeGreaterThan(before);
  });

  it('hold no request of a person up', async () => {
    let attempts = 0;
    const runHandler = async (): Promise<void> => {
      attempts += 1;
    };
    const updater = await start({ runHandler });
    for (let turn = 0; turn < 8; turn += 1) {
      updater.considerOffer(offerOf({ tag: `number ${turn}` }));
      await settle();
    }
    expect(attempts).toBe(5);
    shared = offerOf({ tag: 'number 7' });
    await updater.check(stop.signal);
    await settle();
    expect(attempts).toBe(6);
  });
});

describe('a run', () => {
  it('ends quietly when it is stopped in the middle of a step', async () => {
    const report: UpdaterDeps['report'] = (values) => ('fw_state' in values ? held(stop.signal) : Promise.resolve());
    const updater = await start({ report });
    updater.considerOffer(offerOf());
    await settle();
    stop.abort(new Error('stop'));
    await running;
    expect(errors).toEqual([]);
    expect(journal().state).toBe('downloading');
  });

  it('goes on with a step that a full disk cut short, ten seconds later', async () => {
    const updater = await start();
    disk.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) };
    updater.considerOffer(offerOf());
    await settle();
    expect([errors, updater.status.state]).toEqual([['a step of the update was cut short'], 'idle']);
    disk.faults = {};
    await clock.advance(9_999);
    expect(updater.status.state).toBe('idle');
    await clock.advance(1);
    await settle();
    expect(updater.status.history).toMatchObject([{ outcome: 'UPDATED' }]);
  });
});

import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AgentConfig, configSchema } from '../../../src/config/schema/agent-config.ts';
import { FirmwareUpdater } from '../../../src/firmware/firmware-updater.ts';
import { releasePaths } from '../../../src/firmware/guard-state.ts';
import { signatureFrame } from '../../../src/firmware/release-signature.ts';
import { nextState, UPDATE_STATES, type UpdateState } from '../../../src/firmware/update-states.ts';
import type { HandledImage, UpdaterDeps } from '../../../src/firmware/updater-deps.ts';
import type { Clock } from '../../../src/host/clock.ts';
import { silentLog } from '../../../src/host/log.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import type { JsonObject, JsonValue } from '../../../src/values/json.ts';
import { makeKeys } from '../../support/release-image.ts';
import { systemUpdateFiles } from '../../support/system-update-files.ts';

const firmware = Buffer.from('program of an attached controller');
const signer = makeKeys();
const signed = Buffer.concat([
  firmware,
  signatureFrame(createHash('sha256').update(firmware).digest(), signer.privateKey),
]);
let root: string;
let served: Buffer;
let shared: JsonObject;
let told: Record<string, JsonValue>[];
let handled: (HandledImage & { content: string })[];
let downloads: { kind?: string; title: string }[];
let stop: AbortController;
let running: Promise<void>;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'turnstone-updater-'));
  await mkdir(join(root, 'keys'));
  await writeFile(join(root, 'keys/a.pem'), signer.publicPem);
  served = signed;
  told = [];
  handled = [];
  downloads = [];
  stop = new AbortController();
  running = Promise.resolve();
});
afterEach(async () => {
  stop.abort();
  await running;
  await rm(root, { recursive: true, force: true });
});

const clock: Clock = {
  bootId: 'boot',
  monotonicMs: () => 0,
  wallMs: () => 0,
  after: () => () => {},
  jitter: () => 0,
  sleep: (_ms, signal) => new Promise((resolve) => (signal.aborted ? resolve() : setImmediate(resolve))),
};

function offerOf(changes: JsonObject = {}, prefix = 'fw'): JsonObject {
  const checksum = createHash('sha256').update(served).digest('hex');
  const fields: JsonObject = {
    title: 'motor',
    version: '7',
    checksum,
    checksum_algorithm: 'SHA256',
    size: served.length,
    ...changes,
  };
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [`${prefix}_${key}`, value]));
}

async function start(changes: Partial<UpdaterDeps> = {}, settings: object = {}): Promise<FirmwareUpdater> {
  const parsed = configSchema.parse({
    version: 1,
    platform: { url: 'http://127.0.0.1:1', accessToken: 'token' },
    firmware: {
      handlers: [
        { title: 'motor', program: '/bin/true' },
        { title: 'panel', package: 'software', program: '/bin/true' },
      ],
    },
  });
  const config = { ...parsed.firmware, trustedKeys: join(root, 'keys'), ...settings } as AgentConfig['firmware'];
  const updater = await FirmwareUpdater.open({
    kind: 'firmware',
    config,
    files: systemUpdateFiles,
    paths: releasePaths(root),
    clock,
    log: silentLog,
    arch: process.arch,
    release: {
      runningVersion: '2.0.0',
      vitals: () => ({ uploaded: true, reachable: true }),
      requestRestart: () => stop.abort(),
    },
    deviceApi: {
      getAttributes: async () => ({ client: {}, shared, empty: Object.keys(shared).length === 0 }),
      getFirmware: async ({ kind, title, chunk = 0, sizeBytes = served.length }) => {
        downloads.push({ title, ...(kind === undefined ? {} : { kind }) });
        const part = served.subarray(chunk * sizeBytes, (chunk + 1) * sizeBytes);
        return {
          lengthBytes: part.length,
          stream: (async function* () {
            yield part;
          })(),
        };
      },
    },
    getUrl: () => Promise.reject(new Error('no file lies elsewhere')),
    report: async (values) => void told.push({ ...values }),
    runHandler: async (_handler, image) => void handled.push({ ...image, content: await readFile(image.file, 'utf8') }),
    newId: () => crypto.randomUUID(),
    locked: () => false,
    onWait: () => {},
    ...changes,
  });
  running = updater.run(stop.signal);
  return updater;
}

async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2_000 && !isSo(); turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(isSo()).toBe(true);
}

const statesTold = (prefix = 'fw'): unknown[] =>
  told.map((values) => values[`${prefix}_state`]).filter((state) => state !== undefined);

describe('an offer for something attached', () => {
  it('goes to its fixed command with the verified file, without the signature behind it', async () => {
    const updater = await start();
    updater.considerOffer(offerOf());
    await until(() => updater.status.history.length === 1);
    expect(statesTold()).toEqual(['DOWNLOADING', 'DOWNLOADED', 'VERIFIED', 'UPDATING', 'UPDATED']);
    expect(handled).toMatchObject([{ title: 'motor', version: '7', content: firmware.toString() }]);
    expect(told.at(-1)).toMatchObject({ current_fw_title: 'motor', current_fw_version: '7' });
    expect(await readdir(releasePaths(root).firmware)).toEqual(['firmware-update.json']);
  });

  it('never runs the command with a file that is not signed, unless signatures are switched off', async () => {
    served = firmware;
    const updater = await start();
    updater.considerOffer(offerOf());
    await until(() => updater.status.history.length === 1);
    expect(updater.status.history[0]).toMatchObject({ outcome: 'FAILED', reason: 'the release is not signed' });
    expect(handled).toEqual([]);
    stop.abort();
    await running;
    stop = new AbortController();
    const open = await start({}, { requireSignature: false });
    open.considerOffer(offerOf({ tag: 'again' }));
    await until(() => handled.length === 1);
  });

  it('fails with what the command said last', async () => {
    const updater = await start({ runHandler: () => Promise.reject(new Error('flash ended with 3: no target')) });
    updater.considerOffer(offerOf());
    await until(() => updater.status.history.length === 1);
    expect(told.at(-1)).toEqual({ fw_state: 'FAILED', fw_error: 'flash ended with 3: no target' });
  });

  it('of the software kind is told with sw_ names and fetched from its own endpoint', async () => {
    const updater = await start({ kind: 'software' });
    updater.considerOffer(offerOf({ title: 'panel' }, 'sw'));
    await until(() => updater.status.history.length === 1);
    expect(statesTold('sw').at(-1)).toBe('UPDATED');
    expect(downloads[0]).toEqual({ kind: 'software', title: 'panel' });
  });

  it('that nothing here handles is refused', async () => {
    const updater = await start();
    updater.considerOffer(offerOf({ title: 'toaster' }));
    await until(() => updater.status.history.length === 1);
    expect(told.at(-1)).toEqual({ fw_state: 'FAILED', fw_error: 'nothing here is called "toaster"' });
    expect(downloads).toEqual([]);
  });
});

/** As the platform's own form makes it of an external URL. */
const external = (changes: JsonObject = {}): JsonObject =>
  offerOf({ checksum: '', checksum_algorithm: '', size: '', url: 'https://files.example.com/motor.bin', ...changes });

describe('a package with an external URL and no checksum', () => {
  const handler = {
    title: 'motor',
    package: 'firmware',
    program: '/bin/true',
    arguments: ['{file}'],
    timeoutMs: 1_000,
  };
  const asked: { url: string; hosts: readonly string[] | undefined }[] = [];
  const elsewhere: Partial<UpdaterDeps> = {
    deviceApi: {
      getAttributes: async () => ({ client: {}, shared, empty: false }),
      getFirmware: () => Promise.reject(new PlatformError('not-found', 'it lies at its own address', { status: 404 })),
    },
    getUrl: async (url, { hosts }) => {
      asked.push({ url, hosts });
      return {
        startsAt: 0,
        lengthBytes: served.length,
        stream: (async function* () {
          yield served;
        })(),
      };
    },
  };
  const outcome = async (settings: object, offer: JsonObject, all: object = {}): Promise<string | undefined> => {
    const updater = await start(elsewhere, { ...all, handlers: [{ ...handler, ...settings }] });
    updater.considerOffer(offer);
    await until(() => updater.status.history.length === 1);
    return updater.status.history[0]?.reason;
  };

  it('is refused, with the words for its handler', async () => {
    expect(await outcome({ allowWithoutChecksum: false }, external())).toBe(
      'it has no checksum; its handler takes a signed one without it where allowWithoutChecksum is true',
    );
  });

  it('is installed by a handler that allows it when it is signed', async () => {
    expect(await outcome({ allowWithoutChecksum: true, source: ['files.example.com'] }, external())).toBeUndefined();
    expect(handled).toMatchObject([{ content: firmware.toString() }]);
    expect(asked.at(-1)).toEqual({ url: 'https://files.example.com/motor.bin', hosts: ['files.example.com'] });
  });

  it.each([
    ['firmware says so', {}, { requireSignature: false }],
    ['its handler says so', { requireSignature: false }, {}],
  ])('must be signed even where signatures are switched off: %s', async (_who, settings, all) => {
    served = firmware;
    expect(await outcome({ allowWithoutChecksum: true, ...settings }, external(), all)).toBe(
      'the release is not signed',
    );
    expect(handled).toEqual([]);
  });

  it.each([
    'https://elsewhere.example.com/motor.bin',
    'https://files.example.com.evil.example/motor.bin',
    'https://files.example.com@evil.example/motor.bin',
    'no address',
  ])('is refused when it is at %s, which its handler does not name', async (url) => {
    const source = ['files.example.com'];
    expect(await outcome({ allowWithoutChecksum: true, source }, external({ url }))).toMatch(/not among the hosts/);
  });
});

describe('a handler that says for itself whether packages are signed', () => {
  const handler = {
    title: 'motor',
    package: 'firmware',
    program: '/bin/true',
    arguments: ['{file}'],
    timeoutMs: 1_000,
  };

  it.each([
    [true, false, 'the release is not signed'],
    [false, true, undefined],
    [undefined, true, 'the release is not signed'],
    [undefined, false, undefined],
  ])('%s goes before what firmware says, %s', async (own, all, reason) => {
    served = firmware;
    const updater = await start({}, { requireSignature: all, handlers: [{ ...handler, requireSignature: own }] });
    updater.considerOffer(offerOf());
    await until(() => updater.status.history.length === 1);
    expect(updater.status.history[0]?.reason).toBe(reason);
  });
});

describe('an offer for this agent', () => {
  it.each([
    ['is older than what runs', { version: '1.9.9' }, /1\.9\.9 is older than 2\.0\.0/],
    ['has a version that is none', { version: '../../2' }, /not one/],
    ['has no checksum', { checksum: '' }, /no checksum/],
    ['names an unknown checksum', { checksum_algorithm: 'ROT13' }, /ROT13 is not known/],
    ['has a size that is none', { size: 'big' }, /size is not a number/],
    ['is too large', { size: 600_000_000 }, /larger than/],
  ])('that %s is refused', async (_name, changes, reason) => {
    const updater = await start();
    updater.considerOffer(offerOf({ title: 'turnstone', version: '3.0.0', ...changes }));
    await until(() => updater.status.history.length === 1);
    expect(updater.status.history[0]?.reason).toMatch(reason);
    expect(downloads).toEqual([]);
  });

  it.each(['--post-install=x', '-x', 'a\nb', 'x'.repeat(129)])(
    'for an attached device with the version %j is refused: it would be an argument',
    async (version) => {
      const updater = await start();
      updater.considerOffer(offerOf({ title: 'motor', version }));
      await until(() => updater.status.history.length === 1);
      expect([updater.status.history[0]?.outcome, handled]).toEqual(['FAILED', []]);
    },
  );

  it('may be older where downgrades are allowed', async () => {
    const updater = await start({}, { allowDowngrade: true });
    updater.considerOffer(offerOf({ title: 'turnstone', version: '1.0.0' }));
    await until(() => downloads.length > 0);
  });

  it('that is what runs already is reported as UPDATED, and once', async () => {
    const updater = await start();
    updater.considerOffer(offerOf({ title: 'turnstone', version: '2.0.0' }));
    await until(() => updater.status.history.length === 1);
    updater.considerOffer(offerOf({ title: 'turnstone', version: '2.0.0' }));
    expect(statesTold()).toEqual(['UPDATED']);
    expect(downloads).toEqual([]);
  });

  it('is refused in plain words by an agent that was not installed as a release', async () => {
    const updater = await start({}, { requireSignature: false });
    served = (await import('../../support/release-image.ts')).makeImage({ release: '3.0.0' }).bytes;
    updater.considerOffer(offerOf({ title: 'turnstone', version: '3.0.0' }));
    await until(() => updater.status.history.length === 1);
    expect(updater.status.history[0]?.reason).toBe('this agent does not run from an installed release');
  });
});

describe('an offer that does not stay', () => {
  it('is dropped when another is made while it is downloaded', async () => {
    let isFirst = true;
    const getFirmware: UpdaterDeps['deviceApi']['getFirmware'] = async ({ version }, signal) => {
      downloads.push({ title: version });
      if (isFirst) {
        isFirst = false;
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      }
      return {
        lengthBytes: served.length,
        stream: (async function* () {
          yield served;
        })(),
      };
    };
    const updater = await start({
      deviceApi: { getFirmware, getAttributes: async () => ({ client: {}, shared, empty: false }) },
    });
    updater.considerOffer(offerOf());
    await until(() => downloads.length === 1);
    updater.considerOffer(offerOf({ version: '8' }));
    await until(() => handled.length === 1);
    expect(handled[0]?.version).toBe('8');
    await until(() => updater.status.history.length === 1);
  });

  it('is read again when the platform refuses its file', async () => {
    shared = offerOf({ version: '9' });
    const getFirmware: UpdaterDeps['deviceApi']['getFirmware'] = async ({ version }) => {
      if (version !== '9') throw new PlatformError('refused', 'not the one assigned now', { status: 400 });
      return {
        lengthBytes: served.length,
        stream: (async function* () {
          yield served;
        })(),
      };
    };
    const updater = await start({
      deviceApi: { getFirmware, getAttributes: async () => ({ client: {}, shared, empty: false }) },
    });
    updater.considerOffer(offerOf());
    await until(() => handled.length === 1);
    expect(handled[0]?.version).toBe('9');
  });

  it('is tried once more when somebody says so, and not before', async () => {
    let fails = true;
    const runHandler = async (): Promise<void> => {
      if (fails) throw new Error('no target');
      handled.push({ file: '', title: '', version: '', content: '' });
    };
    const updater = await start({ runHandler });
    shared = offerOf();
    updater.considerOffer(shared);
    await until(() => updater.status.history.length === 1);
    const { length } = downloads;
    fails = false;
    updater.considerOffer({ ...shared });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(downloads).toHaveLength(length);
    await updater.check(new AbortController().signal);
    await until(() => handled.length === 1);
  });
});

describe('the journal', () => {
  it('is set aside when it cannot be read, and the updater goes on', async () => {
    const folder = releasePaths(root).firmware;
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, 'firmware-update.json'),
      '{"format":"turnstone-firmware-journal","version":1,"state":"flying","history":[]}',
    );
    const updater = await start();
    expect(updater.status.state).toBe('idle');
    expect((await readdir(folder)).sort()).toContain('firmware-update.json.corrupt');
  });
});

describe('the state table', () => {
  it('leads from every state to an end, and by every event to a state', () => {
    const reachable = (from: UpdateState): Set<string> => {
      const seen = new Set<string>([from]);
      for (const state of seen)
        for (const next of Object.values(UPDATE_STATES[state as UpdateState].on)) seen.add(next);
      return seen;
    };
    for (const state of Object.keys(UPDATE_STATES) as UpdateState[]) {
      expect(reachable(state), state).toContain('idle');
      for (const next of Object.values(UPDATE_STATES[state].on)) expect(Object.keys(UPDATE_STATES)).toContain(next);
    }
    expect(reachable('idle')).toEqual(new Set(Object.keys(UPDATE_STATES)));
    expect(nextState('trial', 'offered')).toBe('failed');
  });
});

import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DownloadDeps } from '../../../src/firmware/download-deps.ts';
import { ImageDownload } from '../../../src/firmware/download-image.ts';
import type { FirmwareOffer } from '../../../src/firmware/firmware-offer.ts';
import { type UpdateFiles, updateFiles } from '../../../src/firmware/update-files.ts';
import type { Clock } from '../../../src/host/clock.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { FirmwareBody } from '../../../src/platform/device-api.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { systemUpdateFiles } from '../../support/system-update-files.ts';

const CHUNK = 1000;
/** No download here needs nearly as many; one that never ends must not wait for a time limit to fail. */
const MAX_REQUESTS = 1_000;
const image = randomBytes(10_500);
let folder: string;
let clock: SleepyClock;
let asked: { chunk: number; size: number }[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-download-'));
  clock = new SleepyClock();
  asked = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Time passes only while somebody sleeps. */
class SleepyClock implements Clock {
  bootId = 'boot-1';
  nowMs = 0;
  monotonicMs = (): number => this.nowMs;
  wallMs = (): number => Date.UTC(2026, 0, 1) + this.nowMs;
  after = (): (() => void) => () => {};
  jitter = (): number => 0.5;

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (!signal.aborted) this.nowMs += ms;
  }
}

function bodyOf(
  bytes: Uint8Array,
  options: { readonly length?: number | undefined; readonly cutAt?: number } = { length: bytes.length },
): FirmwareBody {
  return {
    ...(options.length === undefined ? {} : { lengthBytes: options.length }),
    stream: (async function* () {
      const end = options.cutAt ?? bytes.length;
      for (let at = 0; at < end; at += 300) yield bytes.subarray(at, Math.min(at + 300, end));
      if (options.cutAt !== undefined) throw new PlatformError('busy', 'connection reset');
    })(),
  };
}

const part = (chunk: number, size: number): Uint8Array => image.subarray(chunk * size, (chunk + 1) * size);
const whole: DownloadDeps['getChunk'] = async () => bodyOf(image);

function offer(changes: Partial<FirmwareOffer> = {}): FirmwareOffer {
  const checksum = createHash('sha256').update(image).digest('hex');
  return {
    title: 't',
    version: '1',
    checksum,
    algorithm: 'SHA256',
    sizeBytes: image.length,
    fingerprint: 'f',
    ...changes,
  };
}

function withoutSize(changes: Partial<FirmwareOffer> = {}): FirmwareOffer {
  const { sizeBytes: _, ...rest } = offer(changes);
  return rest;
}

async function download(
  getChunk: DownloadDeps['getChunk'] = async (chunk, size) => bodyOf(part(chunk, size)),
  options: {
    readonly offer?: FirmwareOffer;
    readonly settings?: object;
    readonly signal?: AbortSignal;
    readonly getUrl?: DownloadDeps['getUrl'];
    readonly readOffer?: DownloadDeps['readOffer'];
    readonly clock?: Clock;
    readonly files?: UpdateFiles;
  } = {},
): Promise<Buffer> {
  const endless = new AbortController();
  const target = {
    offer: options.offer ?? offer(),
    partPath: join(folder, 'image'),
    progressPath: join(folder, 'image.progress'),
  };
  await ImageDownload.run(
    {
      files: options.files ?? systemUpdateFiles,
      clock: options.clock ?? clock,
      log: silentLog,
      settings: { chunkBytes: CHUNK, maxSizeBytes: 100_000, downloadDeadlineMs: 3_600_000, ...options.settings },
      getChunk: (chunk, size, signal) => {
        asked.push({ chunk, size });
        if (asked.length > MAX_REQUESTS) endless.abort(new Error('it asks for ever'));
        return getChunk(chunk, size, signal);
      },
      readOffer: options.readOffer ?? (() => Promise.reject(new Error('not asked for'))),
      getUrl: options.getUrl ?? (() => Promise.reject(new Error('no file lies elsewhere'))),
    },
    target,
    AbortSignal.any([endless.signal, ...(options.signal === undefined ? [] : [options.signal])]),
  );
  return readFile(target.partPath);
}

describe('a download in chunks', () => {
  it('puts every byte at its place, in requests of one chunk and then of more', async () => {
    expect((await download()).equals(image)).toBe(true);
    expect(asked).toEqual([
      { chunk: 0, size: CHUNK },
      { chunk: 1, size: CHUNK },
      { chunk: 1, size: 2 * CHUNK },
      { chunk: 1, size: 4 * CHUNK },
      { chunk: 1, size: 8 * CHUNK },
    ]);
  });

  it('asks a server for single chunks that gives less than it was asked for', async () => {
    const getChunk: DownloadDeps['getChunk'] = async (chunk, size) => bodyOf(part(chunk, size).subarray(0, CHUNK));
    expect((await download(getChunk)).equals(image)).toBe(true);
    expect(asked.map(({ size }) => size / CHUNK)).toEqual([1, 1, 2, ...Array(9).fill(1)]);
  });

  it('asks for eight chunks at most', async () => {
    const settings = { chunkBytes: 100 };
    expect((await download(undefined, { settings })).equals(image)).toBe(true);
    expect(Math.max(...asked.map(({ size }) => size))).toBe(800);
  });

  it('ends with the last, short chunk when the size is not known, and asks once more when that was full', async () => {
    expect((await download(undefined, { offer: withoutSize() })).equals(image)).toBe(true);
    const even = image.subarray(0, 2000);
    const checksum = createHash('sha256').update(even).digest('hex');
    const getChunk: DownloadDeps['getChunk'] = async (chunk, size) =>
      bodyOf(even.subarray(chunk * size, (chunk + 1) * size));
    asked = [];
    expect((await download(getChunk, { offer: withoutSize({ checksum, fingerprint: 'even' }) })).equals(even)).toBe(
      true,
    );
    expect(asked).toHaveLength(3);
  });

  it('keeps the whole chunks of an answer that was cut, and asks for the rest', async () => {
    let cuts = 0;
    const getChunk: DownloadDeps['getChunk'] = async (chunk, size) => {
      const bytes = part(chunk, size);
      return chunk * size !== 4_000 || ++cuts > 1
        ? bodyOf(bytes)
        : bodyOf(bytes, { length: bytes.length, cutAt: 2_700 });
    };
    expect((await download(getChunk)).equals(image)).toBe(true);
    expect(asked.slice(3)).toEqual([
      { chunk: 1, size: 4 * CHUNK },
      { chunk: 3, size: 2 * CHUNK },
      { chunk: 1, size: 8 * CHUNK },
    ]);
  });

  it.each([
    ['an empty chunk', new Uint8Array()],
    ['a short chunk', image.subarray(0, 10)],
  ])('gives up when the server keeps answering with %s in the middle', async (_name, bytes) => {
    await expect(
      download(async (chunk, size) => (chunk * size === 2000 ? bodyOf(bytes) : bodyOf(part(chunk, size)))),
    ).rejects.toMatchObject({
      code: 'firmware/short-answer',
    });
    expect(asked.filter(({ chunk, size }) => chunk * size === 2000)).toHaveLength(6);
  });

  it('waits out a platform that is busy', async () => {
    let refusals = 3;
    const getChunk: DownloadDeps['getChunk'] = async (chunk, size) => {
      if (refusals-- > 0) throw new PlatformError('busy', 'cannot reach the platform');
      return bodyOf(part(chunk, size));
    };
    expect((await download(getChunk)).equals(image)).toBe(true);
    expect(clock.nowMs).toBeGreaterThan(3_000);
  });

  it('reads the offer again when the platform refuses, goes on where it takes it back, and ends when another is offered', async () => {
    let reads = 0;
    const refuseOnce = async (chunk: number, size: number): Promise<FirmwareBody> => {
      if (reads === 0) throw new PlatformError('refused', 'no such package', { status: 400 });
      return bodyOf(part(chunk, size));
    };
    const readOffer = async (): Promise<void> => {
      reads += 1;
    };
    expect((await download(refuseOnce, { readOffer })).equals(image)).toBe(true);
    expect(reads).toBe(1);
    const withdrawal = new AbortController();
    const withdrawn = download(refuse, {
      readOffer: async () => withdrawal.abort(new Error('withdrawn')),
      signal: withdrawal.signal,
    });
    await expect(withdrawn).rejects.toThrow('withdrawn');
  });

  it('gives up at its deadline with what is wrong, when the platform refuses its file and does not say what it offers', async () => {
    const readOffer = () => Promise.reject(new PlatformError('busy', 'cannot reach the platform'));
    await expect(download(refuse, { readOffer })).rejects.toMatchObject({
      code: 'firmware/download-deadline',
      message: expect.stringContaining('no such package'),
    });
    expect(clock.nowMs).toBeGreaterThan(3_600_000);
    // It is a fault that lasts: the platform is not asked every second.
    expect(asked.length).toBeLessThan(40);
  });

  const notHere = async (): Promise<never> => {
    throw new PlatformError('not-found', 'it lies elsewhere', { status: 404 });
  };
  it.each<[string, DownloadDeps['getChunk'], DownloadDeps['getUrl'] | undefined, object]>([
    ['the platform refuses', refuse, undefined, { code: 'platform/refused', message: 'no such package' }],
    ['the platform does not have', notHere, undefined, { code: 'platform/not-found' }],
    [
      'the host of its own address refuses',
      notHere,
      () => Promise.reject(new PlatformError('refused', "the file's own address answers 404", { status: 404 })),
      { code: 'platform/refused', message: "the file's own address answers 404" },
    ],
  ])('gives a file up within minutes that is still offered and that %s', async (_who, getChunk, getUrl, fault) => {
    const target = getUrl === undefined ? {} : { getUrl, offer: offer({ url: 'https://files.example/image' }) };
    let reads = 0;
    const readOffer = async (): Promise<void> => {
      reads += 1;
    };
    await expect(download(getChunk, { readOffer, ...target })).rejects.toMatchObject(fault);
    expect(reads).toBe(11);
    expect(clock.nowMs).toBeLessThan(20 * 60_000);
  });

  it('counts no refusals from before a part that came', async () => {
    let turn = 0;
    const getChunk: DownloadDeps['getChunk'] = async (chunk, size) => {
      turn += 1;
      if (turn % 5 !== 0) throw new PlatformError('refused', 'no such package', { status: 400 });
      return bodyOf(part(chunk, size));
    };
    expect((await download(getChunk, { readOffer: async () => {} })).equals(image)).toBe(true);
    expect(turn).toBeGreaterThan(11);
  });

  async function refuse(): Promise<never> {
    throw new PlatformError('refused', 'no such package', { status: 400 });
  }
});

describe('a download that is resumed', () => {
  async function stopAfter(bytes: number): Promise<void> {
    const stop = new AbortController();
    const getChunk: DownloadDeps['getChunk'] = async (chunk, size) => {
      if (chunk * size >= bytes) stop.abort(new Error('killed'));
      return bodyOf(part(chunk, size));
    };
    await expect(download(getChunk, { signal: stop.signal })).rejects.toThrow('killed');
    asked = [];
  }

  it('goes on after the last whole chunk within one boot', async () => {
    await stopAfter(4000);
    expect((await download()).equals(image)).toBe(true);
    expect((asked[0]?.chunk ?? 0) * (asked[0]?.size ?? 0)).toBe(4000);
  });

  it('trusts only what was synced after a power cut', async () => {
    await stopAfter(4000);
    clock.bootId = 'boot-2';
    expect((await download()).equals(image)).toBe(true);
    expect(asked[0]).toEqual({ chunk: 0, size: CHUNK });
  });

  it('begins anew for another offer', async () => {
    await stopAfter(4000);
    expect((await download(undefined, { offer: offer({ fingerprint: 'other' }) })).equals(image)).toBe(true);
    expect(asked[0]).toEqual({ chunk: 0, size: CHUNK });
  });
});

describe('a server that knows only the contract', () => {
  it.each([
    ['says how much it sends', whole],
    ['does not say how much it sends', async () => bodyOf(image, { length: undefined })],
  ] as const)('is recognised by its length and asked once, when it %s', async (_name, getChunk) => {
    expect((await download(getChunk, { offer: withoutSize() })).equals(image)).toBe(true);
    expect(asked).toHaveLength(1);
  });

  it('is asked again from the beginning after a cut', async () => {
    let answers = 0;
    const getChunk: DownloadDeps['getChunk'] = async () =>
      ++answers === 1 ? bodyOf(image, { length: image.length, cutAt: 5_000 }) : bodyOf(image);
    expect((await download(getChunk, { offer: withoutSize() })).equals(image)).toBe(true);
    expect(asked).toEqual([
      { chunk: 0, size: CHUNK },
      { chunk: 0, size: 0 },
    ]);
  });

  it('may not send more than the greatest size', async () => {
    const endless: FirmwareBody = {
      stream: (async function* () {
        for (;;) yield Buffer.alloc(5_000);
      })(),
    };
    await expect(download(async () => endless, { offer: withoutSize() })).rejects.toMatchObject({
      code: 'firmware/too-large',
    });
    await expect(
      download(async () => bodyOf(image, { length: 200_000 }), { offer: withoutSize() }),
    ).rejects.toMatchObject({
      code: 'firmware/too-large',
    });
  });
});

describe('limits', () => {
  it('fetches a file that lies elsewhere when the platform does not have it', async () => {
    const addresses: string[] = [];
    const getUrl: DownloadDeps['getUrl'] = async (url) => {
      addresses.push(url);
      return bodyOf(image);
    };
    const missing = async (): Promise<never> => {
      throw new PlatformError('not-found', 'none is assigned', { status: 404 });
    };
    expect(
      (await download(missing, { offer: offer({ url: 'https://files.example/image' }), getUrl })).equals(image),
    ).toBe(true);
    expect(addresses).toEqual(['https://files.example/image']);
  });

  it('looks elsewhere only when the platform does not have the file, and only where an address was offered', async () => {
    const getUrl = async (): Promise<never> => {
      throw new Error('asked elsewhere');
    };
    const missing = async (): Promise<never> => {
      throw new PlatformError('not-found', 'none is assigned', { status: 404 });
    };
    // It may come yet: that is waited for.
    await expect(download(missing, { getUrl })).rejects.toMatchObject({ code: 'firmware/download-deadline' });
    let refusals = 1;
    const busy: DownloadDeps['getChunk'] = async (chunk, size) => {
      if (refusals-- > 0) throw new PlatformError('busy', 'cannot reach the platform');
      return bodyOf(part(chunk, size));
    };
    expect((await download(busy, { getUrl, offer: offer({ url: 'https://files.example/image' }) })).equals(image)).toBe(
      true,
    );
  });

  it('begins with nothing of what was there when it goes elsewhere, or is cut there', async () => {
    let cuts = 1;
    const getUrl: DownloadDeps['getUrl'] = async () =>
      bodyOf(image, cuts-- > 0 ? { length: image.length, cutAt: 5_000 } : { length: image.length });
    const half: DownloadDeps['getChunk'] = async (chunk, size) => {
      if (size === 0 || chunk * size >= 4_000)
        throw new PlatformError('not-found', 'none is assigned', { status: 404 });
      return bodyOf(part(chunk, size));
    };
    expect((await download(half, { offer: offer({ url: 'https://files.example/image' }), getUrl })).equals(image)).toBe(
      true,
    );
  });

  it('refuses an image that is larger than announced, and gives its connection back', async () => {
    let ended = false;
    const watched: DownloadDeps['getChunk'] = async () => {
      const { stream, ...body } = bodyOf(image);
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        try {
          yield* stream;
        } finally {
          ended = true;
        }
      };
      return { ...body, stream: pieces() };
    };
    await expect(download(watched, { offer: offer({ sizeBytes: 5_000 }) })).rejects.toMatchObject({
      code: 'firmware/wrong-size',
    });
    expect(ended).toBe(true);
  });

  it('refuses before it begins what cannot be kept', async () => {
    await expect(
      download(undefined, { offer: offer({ sizeBytes: 10 ** 14 }), settings: { maxSizeBytes: 10 ** 15 } }),
    ).rejects.toMatchObject({
      code: 'firmware/no-space',
    });
    await expect(download(undefined, { offer: offer({ sizeBytes: 100_001 }) })).rejects.toMatchObject({
      code: 'firmware/too-large',
    });
    expect(asked).toEqual([]);
  });

  it('keeps to a rate', async () => {
    await download(undefined, { settings: { rateLimitBytesPerS: 1000 } });
    expect(clock.nowMs).toBeGreaterThan(9_000);
    expect(clock.nowMs).toBeLessThan(12_000);
  });

  it('waits for its hours, also across midnight', async () => {
    const now = new Date(clock.wallMs());
    const at = (hours: number): string => new Date(now.getTime() + hours * 3_600_000).toTimeString().slice(0, 5);
    await download(undefined, { settings: { hours: { from: at(2), to: at(3) }, downloadDeadlineMs: 10 * 3_600_000 } });
    expect(clock.nowMs).toBeGreaterThanOrEqual(2 * 3_600_000);
    expect(clock.nowMs).toBeLessThan(3 * 3_600_000);
  });

  it('ends a request whose bytes trickle, at its deadline, which the waiting for its hours does not use up', async () => {
    const ticking = new FakeClock({ wallMs: Date.UTC(2026, 0, 1) });
    const at = (hours: number): string => new Date(ticking.wallMs() + hours * 3_600_000).toTimeString().slice(0, 5);
    const trickle = async (_chunk: number, size: number): Promise<FirmwareBody> => ({
      lengthBytes: size,
      stream: (async function* () {
        for (let sent = 0; sent < size; sent += 1) {
          await ticking.sleep(20_000, new AbortController().signal);
          yield new Uint8Array(1);
        }
      })(),
    });
    let ended: unknown;
    const settings = { hours: { from: at(10), to: at(11) }, downloadDeadlineMs: 90 * 60_000 };
    // In memory: between two ticks of this clock nothing waits for a disk.
    download(trickle, { clock: ticking, settings, files: updateFiles(new MemoryFiles()) }).catch((error: unknown) => {
      ended = error;
    });
    const settle = (hours: number): Promise<void> => ticking.advance(hours * 3_600_000);
    await settle(11.5);
    // One hour of its deadline is used; the request under way ended with the window.
    expect([ended, asked.length]).toEqual([undefined, 1]);
    await settle(22);
    expect([ended, asked.length]).toEqual([undefined, 1]);
    await settle(2.5);
    expect(ended).toMatchObject({ code: 'firmware/download-deadline' });
    expect(asked.length).toBe(2);
  });

  it('gives up at its deadline, which restarts do not renew', async () => {
    const busy = async (): Promise<never> => {
      throw new PlatformError('busy', 'cannot reach the platform');
    };
    await expect(download(busy)).rejects.toMatchObject({ code: 'firmware/download-deadline' });
    expect(clock.nowMs).toBeGreaterThan(3_600_000);
  });
});

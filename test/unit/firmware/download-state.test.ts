/** What a download keeps on the disk, what it believes of it later, and the answers of servers that keep no promise. */
import { createHash, randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { DownloadDeps } from '../../../src/firmware/download-deps.ts';
import { ImageDownload } from '../../../src/firmware/download-image.ts';
import { keptBytes, readProgress, writeProgress } from '../../../src/firmware/download-progress.ts';
import type { FirmwareOffer } from '../../../src/firmware/firmware-offer.ts';
import { type UpdateFiles, updateFiles } from '../../../src/firmware/update-files.ts';
import type { Clock } from '../../../src/host/clock.ts';
import type { OpenFile } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { FirmwareBody } from '../../../src/platform/device-api.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const CHUNK = 1_000;
const SPARE = 32 * 1024 * 1024;
const PART = '/state/image';
const PROGRESS = '/state/image.progress';
const image = randomBytes(10_500);
let disk: MemoryFiles;
let nowMs: number;
let bootId: string;
let asked: number[];

beforeEach(() => {
  disk = new MemoryFiles();
  [nowMs, bootId, asked] = [0, 'boot-1', []];
});

/** Time passes only while somebody sleeps. */
const clock: Clock = {
  get bootId() {
    return bootId;
  },
  monotonicMs: () => nowMs,
  wallMs: () => nowMs,
  after: () => () => {},
  jitter: () => 0.5,
  sleep: async (ms, signal) => {
    await new Promise((resolve) => setImmediate(resolve));
    if (!signal.aborted) nowMs += ms;
  },
};

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const step = Math.max(300, bytes.length >> 2);
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
}
const body = (bytes: Uint8Array, lengthBytes = bytes.length): FirmwareBody => ({ lengthBytes, stream: pieces(bytes) });
const chunkOf = (all: Uint8Array, chunk: number, size: number): Uint8Array =>
  all.subarray(chunk * size, (chunk + 1) * size);

interface Attempt {
  readonly content?: Buffer;
  readonly offer?: Partial<FirmwareOffer>;
  readonly settings?: object;
  readonly getChunk?: DownloadDeps['getChunk'];
  readonly getUrl?: DownloadDeps['getUrl'];
  readonly files?: Partial<UpdateFiles>;
  readonly signal?: AbortSignal;
}

/** Downloads, and holds the sums against what lies on the disk. */
async function download({ content = image, ...attempt }: Attempt = {}): Promise<Buffer> {
  const { getChunk = async (chunk, size) => body(chunkOf(content, chunk, size)) } = attempt;
  const checksum = createHash('sha256').update(content).digest('hex');
  const { sizeBytes, ...offer } = {
    title: 't',
    version: '1',
    checksum,
    algorithm: 'SHA256',
    fingerprint: 'f',
    sizeBytes: content.length,
    ...attempt.offer,
  } as FirmwareOffer;
  const sums = await ImageDownload.run(
    {
      files: { ...updateFiles(disk), ...attempt.files },
      clock,
      log: silentLog,
      settings: { chunkBytes: CHUNK, maxSizeBytes: 100_000, downloadDeadlineMs: 3_600_000, ...attempt.settings },
      getChunk: (chunk, size, signal) => {
        asked.push(chunk * size);
        return getChunk(chunk, size, signal);
      },
      readOffer: () => Promise.reject(new Error('nothing is refused')),
      getUrl: attempt.getUrl ?? (() => Promise.reject(new Error('no file lies elsewhere'))),
    },
    {
      offer: { ...offer, ...(sizeBytes === 0 ? {} : { sizeBytes: sizeBytes as number }) },
      partPath: PART,
      progressPath: PROGRESS,
    },
    attempt.signal ?? new AbortController().signal,
  );
  const stored = disk.contentOf(PART);
  expect([sums.bytes, sums.checksum()]).toEqual([stored.length, createHash('sha256').update(stored).digest()]);
  return stored;
}

/** Stops a download when it asks for this offset. */
async function stopAt(offset: number, attempt: Attempt = {}): Promise<void> {
  const stop = new AbortController();
  const { content = image } = attempt;
  const getChunk: DownloadDeps['getChunk'] = async (chunk, size) => {
    if (chunk * size >= offset) stop.abort(new Error('killed'));
    stop.signal.throwIfAborted();
    // Too slow to be asked for more at once.
    nowMs += 1_000;
    return body(chunkOf(content, chunk, size));
  };
  await expect(download({ ...attempt, getChunk, signal: stop.signal })).rejects.toThrow('killed');
  asked = [];
}

describe('what is on the disk', () => {
  it('is the whole image when it is done, for the service alone, also after a power cut', async () => {
    expect((await download()).equals(image)).toBe(true);
    expect((await disk.facts(PART))?.mode).toBe(0o600);
    expect((await disk.facts(PROGRESS))?.mode).toBe(0o600);
    disk.cutPower(() => false);
    expect(disk.contentOf(PART).equals(image)).toBe(true);
  });

  it('is synced every 8 MB, which is what a power cut leaves', async () => {
    const large = Buffer.alloc(15 * 1024 * 1024, image);
    const settings = { chunkBytes: 128 * 1024, maxSizeBytes: large.length };
    await stopAt(14 * 1024 * 1024, { content: large, settings });
    disk.cutPower(() => false);
    bootId = 'boot-2';
    expect((await download({ content: large, settings })).equals(large)).toBe(true);
    expect(asked[0]).toBe(8 * 1024 * 1024);
  });

  it('is read once by a start that goes on with it, and not at all by the start that received it', async () => {
    let read = 0;
    const openPart = async (path: string, mode: number): Promise<OpenFile> => {
      const file = await updateFiles(disk).openPart(path, mode);
      const counted = async (into: Uint8Array, at: number): Promise<number> => {
        const bytes = await file.read(into, at);
        read += bytes;
        return bytes;
      };
      return { ...file, read: counted };
    };
    await stopAt(4_000, { files: { openPart } });
    expect(read).toBe(0);
    expect((await download({ files: { openPart } })).equals(image)).toBe(true);
    expect([asked[0], read]).toEqual([4_000, 4_000]);
  });

  it('is written while the next piece comes, and its next chunk asked for before the last is written or synced', async () => {
    const steps: string[] = [];
    const openPart = async (path: string, mode: number): Promise<OpenFile> => {
      const file = await updateFiles(disk).openPart(path, mode);
      const write = async (bytes: Uint8Array, at: number): Promise<void> => {
        await new Promise((resolve) => setImmediate(resolve));
        await file.write(bytes, at);
        steps.push(`written to ${at + bytes.length}`);
      };
      return { ...file, write };
    };
    const getChunk: DownloadDeps['getChunk'] = async (chunk, size) => {
      steps.push(`asked at ${chunk * size}`);
      return body(chunkOf(image, chunk, size));
    };
    await download({ offer: { sizeBytes: 2_000 }, content: image.subarray(0, 2_000), files: { openPart }, getChunk });
    expect(steps.filter((step) => !/[369]00$/.test(step))).toEqual([
      'asked at 0',
      'asked at 1000',
      'written to 1000',
      'written to 2000',
    ]);
  });

  it('holds no more than whole chunks that are written when the disk takes no more in the middle of an answer', async () => {
    const openPart = async (path: string, mode: number): Promise<OpenFile> => {
      const file = await updateFiles(disk).openPart(path, mode);
      const write = (bytes: Uint8Array, at: number): Promise<void> =>
        at + bytes.length === 3_500 ? Promise.reject(new Error('no space')) : file.write(bytes, at);
      return { ...file, write };
    };
    await expect(download({ files: { openPart } })).rejects.toThrow('no space');
    expect(asked).toEqual([0, 1_000, 2_000]);
    expect(disk.contentOf(PART).equals(image.subarray(0, 3_000))).toBe(true);
    asked = [];
    expect((await download()).equals(image)).toBe(true);
    expect(asked[0]).toBe(3_000);
  });

  it('is begun anew when the image is another, the chunk is, or the progress is unreadable', async () => {
    for (const attempt of [{ offer: { fingerprint: 'g' } }, { settings: { chunkBytes: 500 } }]) {
      await stopAt(4_000);
      expect((await download(attempt)).equals(image)).toBe(true);
      expect(asked[0]).toBe(0);
      asked = [];
      disk = new MemoryFiles();
    }
    await stopAt(4_000);
    disk.put(PROGRESS, '{');
    await download();
    expect(asked[0]).toBe(0);
  });

  it('is asked for no more when it is all there', async () => {
    await download();
    asked = [];
    await download({ content: image.subarray(0, 10_000), offer: { sizeBytes: 10_000 } });
    expect(asked).toEqual([]);
    expect(disk.contentOf(PART).length).toBe(10_000);
  });

  it('has to fit with 32 MB to spare, what is there already not counted', async () => {
    const free = (bytes: number) => ({ files: { freeBytes: async () => bytes } });
    await expect(download(free(image.length + SPARE - 1))).rejects.toMatchObject({
      code: 'firmware/no-space',
      message: `the download needs ${image.length + SPARE} bytes, ${image.length + SPARE - 1} are free`,
    });
    await stopAt(4_000, free(image.length + SPARE));
    await expect(download(free(image.length + SPARE - 4_000))).resolves.toBeDefined();
  });

  it('counts the time of all runs against the deadline', async () => {
    const busy: DownloadDeps['getChunk'] = async () => {
      throw new PlatformError('busy', 'cannot reach the platform');
    };
    const stop = new AbortController();
    const half: DownloadDeps['getChunk'] = async (...words) => {
      if (nowMs > 1_800_000) stop.abort(new Error('killed'));
      return busy(...words);
    };
    await expect(download({ getChunk: half, signal: stop.signal })).rejects.toThrow('killed');
    const againMs = nowMs;
    await expect(download({ getChunk: busy })).rejects.toMatchObject({ code: 'firmware/download-deadline' });
    expect(nowMs - againMs).toBeLessThan(2_400_000);
    expect(nowMs).toBeGreaterThanOrEqual(3_600_000);
  });
});

describe('the progress', () => {
  const progress = {
    fingerprint: 'f',
    mode: 'chunks',
    chunkBytes: CHUNK,
    syncedBytes: 3_500,
    bootId: 'boot-1',
    elapsedMs: 7,
  } as const;
  const read = (expected = { fingerprint: 'f', chunkBytes: CHUNK }) =>
    readProgress(updateFiles(disk), PROGRESS, expected);

  it('is read as it was written, for the same offer and chunk only', async () => {
    expect(await read()).toBeUndefined();
    await writeProgress(updateFiles(disk), PROGRESS, progress);
    disk.cutPower(() => false);
    expect(await read()).toEqual(progress);
    expect(await read({ fingerprint: 'g', chunkBytes: CHUNK })).toBeUndefined();
    expect(await read({ fingerprint: 'f', chunkBytes: 1 })).toBeUndefined();
  });

  it.each([
    { format: 'x' },
    { version: 2 },
    { mode: 'pieces' },
    { bootId: 1 },
    { syncedBytes: '1' },
    { elapsedMs: null },
  ])('is none with %j in it', async (wrong) => {
    disk.put(PROGRESS, JSON.stringify({ format: 'turnstone-download', version: 1, ...progress, ...wrong }));
    expect(await read()).toBeUndefined();
    disk.put(PROGRESS, JSON.stringify({ format: 'turnstone-download', version: 1, ...progress, mode: 'whole' }));
    expect(await read()).toMatchObject({ mode: 'whole' });
  });

  it('lets whole chunks be kept: all that was written in this boot, all that was synced in another', () => {
    expect(keptBytes(progress, 5_999, 'boot-1')).toBe(5_000);
    expect(keptBytes(progress, 5_999, 'boot-2')).toBe(3_000);
    expect(keptBytes(progress, 2_500, 'boot-2')).toBe(2_000);
    expect(keptBytes({ ...progress, mode: 'whole' }, 5_999, 'boot-1')).toBe(0);
  });
});

describe('a server that', () => {
  it('ends its answers too early, without a fault, is asked again', async () => {
    let short = 1;
    const getChunk: DownloadDeps['getChunk'] = async (chunk, size) => {
      const bytes = chunkOf(image, chunk, size);
      return chunk * size === 1_000 && short-- > 0 ? body(bytes.subarray(0, 600), bytes.length) : body(bytes);
    };
    expect((await download({ getChunk })).equals(image)).toBe(true);
    expect(asked.slice(0, 3)).toEqual([0, 1_000, 1_000]);
  });

  it('has an empty file is given up, when nothing was said of its size', async () => {
    const empty = download({ offer: { sizeBytes: 0 }, getChunk: async () => body(new Uint8Array()) });
    await expect(empty).rejects.toMatchObject({
      code: 'firmware/short-answer',
      message: expect.stringContaining('the file is empty'),
    });
    expect(asked).toHaveLength(6);
  });

  it('fails now and then is not given up: faults count in a row only', async () => {
    let answers = 0;
    const getChunk: DownloadDeps['getChunk'] = async (chunk, size) => {
      answers += 1;
      return answers % 2 === 0 ? body(chunkOf(image, chunk, size)) : body(new Uint8Array());
    };
    expect((await download({ getChunk, settings: { chunkBytes: 250, rateLimitBytesPerS: 2_000 } })).equals(image)).toBe(
      true,
    );
    expect(answers).toBeGreaterThan(12);
  });

  it.each(['told', 'untold'])(
    'sends more than was asked for later is given up after six attempts, the length %s, each ended',
    async (told) => {
      let ended = 0;
      const getChunk: DownloadDeps['getChunk'] = async (chunk, size) => {
        if (chunk === 0) return body(chunkOf(image, chunk, size));
        const stream = (async function* () {
          try {
            yield* pieces(image);
          } finally {
            ended += 1;
          }
        })();
        return told === 'told' ? { lengthBytes: image.length, stream } : { stream };
      };
      await expect(download({ getChunk })).rejects.toMatchObject({
        code: 'firmware/short-answer',
        message: expect.stringContaining('more came than was asked for'),
      });
      expect([asked.length, ended]).toEqual([7, 6]);
    },
  );

  it('knows no chunks, and ends too early without a word, is asked for the whole file again', async () => {
    let early = 1;
    const getChunk: DownloadDeps['getChunk'] = async () => ({
      stream: pieces(early-- > 0 ? image.subarray(0, 5_000) : image),
    });
    expect((await download({ getChunk })).equals(image)).toBe(true);
    expect(asked).toEqual([0, 0]);
  });

  it('has lost the file leaves nothing of it before one that lies elsewhere', async () => {
    const content = randomBytes(700);
    const getChunk: DownloadDeps['getChunk'] = async (chunk, size) => {
      if (chunk * size >= 2_000 || size === 0)
        throw new PlatformError('not-found', 'none is assigned', { status: 404 });
      return body(chunkOf(image, chunk, size));
    };
    const offer = { sizeBytes: 0, url: 'https://files.example/image' };
    expect((await download({ content, offer, getChunk, getUrl: async () => body(content) })).equals(content)).toBe(
      true,
    );
  });

  it('sends what cannot be mended is given up at once', async () => {
    const getChunk: DownloadDeps['getChunk'] = () => Promise.reject(new Error('a fault of the program'));
    await expect(download({ getChunk })).rejects.toThrow('a fault of the program');
    const denied: DownloadDeps['getChunk'] = () =>
      Promise.reject(new PlatformError('too-large', 'no', { status: 413 }));
    await expect(download({ getChunk: denied })).rejects.toMatchObject({ code: 'platform/too-large' });
    expect(asked).toHaveLength(2);
  });

  it('sends more than was announced, or than is allowed, is given up', async () => {
    await expect(
      download({ offer: { sizeBytes: 900 }, getChunk: async () => body(image.subarray(0, 901)) }),
    ).rejects.toMatchObject({
      code: 'firmware/wrong-size',
    });
    const settings = { maxSizeBytes: 10_499 };
    await expect(download({ offer: { sizeBytes: 0 }, settings })).rejects.toMatchObject({ code: 'firmware/too-large' });
    await expect(download({ offer: { sizeBytes: 0 }, settings: { maxSizeBytes: 10_500 } })).resolves.toBeDefined();
  });
});

describe('a file that lies elsewhere', () => {
  const offer = { url: 'https://files.example/image' };
  const notHere: DownloadDeps['getChunk'] = () =>
    Promise.reject(new PlatformError('not-found', 'none is assigned', { status: 404 }));
  /** What was asked for as here already, in turn. */
  let beginnings: ({ bytes: number; validator: string } | undefined)[];
  beforeEach(() => {
    beginnings = [];
  });

  /** A host that gives rests, and cuts its answers as it is told to. */
  function host(
    content: Uint8Array,
    validator: string | undefined,
    cutsAt: number[] = [],
    cut = (): void => {},
  ): DownloadDeps['getUrl'] {
    return async (_url, beginning, signal) => {
      beginnings.push(beginning);
      const startsAt = beginning !== undefined && beginning.validator === validator ? beginning.bytes : 0;
      const cutAt = cutsAt.shift();
      const stream = (async function* () {
        const step = Math.max(250, content.length >> 5);
        for (let at = startsAt; at < content.length; at += step) {
          if (cutAt !== undefined && at >= cutAt) {
            cut();
            signal.throwIfAborted();
            throw new PlatformError('busy', 'connection reset');
          }
          yield content.subarray(at, at + step);
        }
      })();
      return {
        startsAt,
        lengthBytes: content.length - startsAt,
        ...(validator === undefined ? {} : { validator }),
        stream,
      };
    };
  }

  it('goes on where it was cut', async () => {
    const getUrl = host(image, '"a"', [4_000, 7_380]);
    expect((await download({ offer, getChunk: notHere, getUrl })).equals(image)).toBe(true);
    const validator = '"a"';
    expect(beginnings).toEqual([undefined, { bytes: 4_264, validator }, { bytes: 7_544, validator }]);
  });

  it('begins again where the host does not say by what its rest can be asked for', async () => {
    expect((await download({ offer, getChunk: notHere, getUrl: host(image, undefined, [4_000]) })).equals(image)).toBe(
      true,
    );
    expect(beginnings).toEqual([undefined, undefined]);
  });

  it('goes on after a power cut, with what was synced while it came', async () => {
    const large = Buffer.alloc(15 * 1024 * 1024, image);
    const stop = new AbortController();
    const settings = { maxSizeBytes: large.length };
    const getUrl = host(large, '"a"', [12_000_000], () => stop.abort(new Error('killed')));
    const attempt = { content: large, settings, offer, getChunk: notHere };
    await expect(download({ ...attempt, getUrl, signal: stop.signal })).rejects.toThrow('killed');
    disk.cutPower(() => false);
    bootId = 'boot-2';
    expect((await download({ ...attempt, getUrl: host(large, '"a"') })).equals(large)).toBe(true);
    const [first, afterPowerCut] = beginnings;
    expect(first).toBeUndefined();
    expect(afterPowerCut?.bytes).toBeGreaterThanOrEqual(8 * 1024 * 1024);
  });

  it('believes nothing of what a host that gives no rests was to bring again, after a power cut', async () => {
    const large = Buffer.alloc(7 * 1024 * 1024, image);
    const stop = new AbortController();
    const whole = host(
      large,
      '"a"',
      [6_000_000, 5_000_000],
      () => beginnings.length > 1 && stop.abort(new Error('killed')),
    );
    const getUrl: DownloadDeps['getUrl'] = (url, _beginning, signal) => whole(url, undefined, signal);
    const attempt = { content: large, settings: { maxSizeBytes: large.length }, offer, getChunk: notHere };
    await expect(download({ ...attempt, getUrl, signal: stop.signal })).rejects.toThrow('killed');
    let sectors = 0;
    disk.cutPower(() => ++sectors % 8 !== 0);
    bootId = 'boot-2';
    expect((await download({ ...attempt, getUrl: host(large, '"a"') })).equals(large)).toBe(true);
    expect(beginnings).toEqual([undefined, undefined, undefined]);
  });

  it('goes on with nothing of another file, whichever of two starts meets it', async () => {
    const stop = new AbortController();
    const other = randomBytes(image.length);
    const kill = () => stop.abort(new Error('killed'));
    await expect(
      download({ offer, getChunk: notHere, getUrl: host(other, '"a"', [4_000], kill), signal: stop.signal }),
    ).rejects.toThrow('killed');
    const again = new AbortController();
    const unnamed = host(image, undefined, [6_000], () => again.abort(new Error('killed')));
    await expect(download({ offer, getChunk: notHere, getUrl: unnamed, signal: again.signal })).rejects.toThrow(
      'killed',
    );
    expect((await download({ offer, getChunk: notHere, getUrl: host(image, '"a"') })).equals(image)).toBe(true);
    expect(beginnings).toEqual([undefined, { bytes: 4_264, validator: '"a"' }, undefined]);
  });

  it('gives way to the platform, which has the file by now', async () => {
    let isHere = false;
    const getChunk: DownloadDeps['getChunk'] = (...words) =>
      isHere ? Promise.resolve(body(image)) : notHere(...words);
    const getUrl = host(randomBytes(image.length), '"a"', [4_000], () => {
      isHere = true;
    });
    expect((await download({ offer, getChunk, getUrl })).equals(image)).toBe(true);
  });
});

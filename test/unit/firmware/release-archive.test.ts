import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  ARCHIVE_END,
  archiveEntry,
  type ReleaseSink,
  unpackArchive,
  WINDOW_LOG,
} from '../../../src/firmware/release-archive.ts';
import type { ReleaseManifest } from '../../../src/firmware/release-manifest.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { makeImage, type ReleaseSpec } from '../../support/release-image.ts';

const never = new AbortController().signal;

/** What arrives in a sink, step by step. */
async function unpack(
  bytes: Uint8Array,
  options: { readonly sink?: Partial<ReleaseSink>; readonly signal?: AbortSignal; readonly end?: number } = {},
) {
  const disk = new MemoryFiles();
  disk.put('/image', bytes);
  const steps: string[] = [];
  const files = new Map<string, Buffer>();
  const sink: ReleaseSink = {
    begin: async (_manifest, text) => void steps.push(`begin ${text.length}`),
    open: async ({ path }) => {
      steps.push(`open ${path}`);
      files.set(path, Buffer.alloc(0));
      return {
        write: async (piece) => void files.set(path, Buffer.concat([files.get(path) ?? Buffer.alloc(0), piece])),
        close: async () => void steps.push(`close ${path}`),
      };
    },
    ...options.sink,
  };
  let manifest: ReleaseManifest | undefined;
  let fault: unknown;
  const file = await disk.open('/image', 'read');
  await unpackArchive(file, options.end ?? bytes.length, sink, options.signal ?? never).then(
    (read) => (manifest = read),
    (error: unknown) => (fault = error),
  );
  return { steps, files, manifest, fault };
}

const image = (spec: Partial<ReleaseSpec> = {}): Buffer => makeImage({ release: '2.0.0', ...spec }).bytes;
const bad = expect.objectContaining({ code: 'firmware/bad-archive', recovery: 'drop' });

describe('an archive', () => {
  it('is handed out file by file, each closed before the next, in whatever sizes', async () => {
    const sizes = [0, 1, 511, 512, 513, 300_000];
    const contents = Object.fromEntries(sizes.map((bytes) => [`f${bytes}`, randomBytes(bytes)]));
    const { steps, files, manifest, fault } = await unpack(image({ files: contents }));
    expect(fault).toBeUndefined();
    for (const [path, content] of Object.entries(contents)) expect(files.get(path)?.equals(content), path).toBe(true);
    const paths = manifest?.files.map(({ path }) => path) ?? [];
    expect(steps.slice(1)).toEqual(paths.flatMap((path) => [`open ${path}`, `close ${path}`]));
    expect(steps[0]).toMatch(/^begin \d+$/);
  });

  it('is what tar makes and takes: plain files of root, all of one day', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-tar-'));
    const tar = Buffer.concat([
      ...archiveEntry('bin/a', Buffer.from('program'), true),
      ...archiveEntry('b', Buffer.alloc(600, 'x'), false),
      ARCHIVE_END,
    ]);
    expect(tar.length % 512).toBe(0);
    const listed = spawnSync('tar', ['--utc', '--full-time', '--numeric-owner', '-tvf', '-'], {
      input: tar,
      encoding: 'utf8',
    });
    expect(listed.stdout).toMatch(
      /^-rwxr-xr-x 0\/0 +7 2020-01-01 00:00:00 bin\/a\n-rw-r--r-- 0\/0 +600 2020-01-01 00:00:00 b\n$/,
    );
    expect([listed.status, listed.stderr]).toEqual([0, '']);
    spawnSync('tar', ['-xf', '-', '-C', folder], { input: tar });
    expect(await readFile(join(folder, 'bin/a'), 'utf8')).toBe('program');
    await rm(folder, { recursive: true });
  });

  it('closes a file also when its content cannot be written', async () => {
    const steps: string[] = [];
    const open: ReleaseSink['open'] = async () => ({
      write: () => Promise.reject(new Error('full')),
      close: async () => void steps.push('closed'),
    });
    const { fault } = await unpack(image(), { sink: { open } });
    expect([fault, steps]).toEqual([expect.objectContaining({ message: 'full' }), ['closed']]);
  });

  it('is read no further than the sink wants', async () => {
    const { fault, steps } = await unpack(image(), {
      sink: { begin: () => Promise.reject(new Error('not this one')) },
    });
    expect([fault, steps]).toEqual([expect.objectContaining({ message: 'not this one' }), []]);
  });

  it('is given up when the signal aborts, with its reason', async () => {
    const stop = new AbortController();
    const begin = async (): Promise<void> => stop.abort('enough');
    const { fault } = await unpack(image({ files: { big: randomBytes(400_000) } }), {
      signal: stop.signal,
      sink: { begin },
    });
    expect(fault).toBe('enough');
    expect((await unpack(image(), { signal: AbortSignal.abort('before') })).fault).toBe('before');
  });
});

describe('an archive is refused', () => {
  const raw = (...pieces: Uint8Array[]): Buffer =>
    zstdCompressSync(Buffer.concat(pieces), { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  const entry = (path: string, content: Uint8Array): Buffer => Buffer.concat([...archiveEntry(path, content, false)]);

  it.each([
    ['is empty', Buffer.alloc(0), 'it ends too early'],
    ['is not compressed', Buffer.from('hello'), 'it cannot be decompressed'],
    [
      'begins with another file',
      raw(entry('node', Buffer.from('x')), ARCHIVE_END),
      'it does not begin with a manifest',
    ],
    [
      'has a manifest of no end',
      raw(entry('manifest.json', Buffer.alloc(256 * 1024 + 1, ' '))),
      'it does not begin with a manifest',
    ],
    [
      'ends after its manifest',
      raw(entry('manifest.json', Buffer.from('{'))).subarray(0, -8),
      'it cannot be decompressed',
    ],
    ['is cut', image().subarray(0, -20), 'it cannot be decompressed'],
  ])('when it %s', async (_what, bytes, why) => {
    const { fault, steps } = await unpack(bytes);
    expect(fault).toEqual(bad);
    expect((fault as Error).message).toBe(`the release archive is refused: ${why}`);
    expect(steps).toEqual([]);
  });

  it('when its window is larger than a small gateway can hold', async () => {
    const params = { [constants.ZSTD_c_windowLog]: WINDOW_LOG + 1 };
    const wide = zstdCompressSync(
      Buffer.concat([entry('manifest.json', Buffer.from('{}')), Buffer.alloc(2 ** (WINDOW_LOG + 1))]),
      {
        params,
      },
    );
    expect((await unpack(wide)).fault).toMatchObject({ message: expect.stringContaining('cannot be decompressed') });
    expect(2 ** WINDOW_LOG).toBe(8 * 1024 * 1024);
  });

  it.each([
    [
      'a file that is larger than in the manifest',
      ({ entries }: Parts) => swap(entries, Buffer.from('a runtime!')),
      'expected node',
    ],
    [
      'a file under another name',
      ({ entries }: Parts) => Object.assign(entries[1] ?? {}, { path: 'other' }),
      'expected node',
    ],
    [
      'other content',
      ({ entries }: Parts) => swap(entries, Buffer.from('A runtime')),
      'node is not the file of the manifest',
    ],
    [
      'a file more than in the manifest',
      ({ entries }: Parts) => entries.push({ path: 'z', content: Buffer.alloc(0) }),
      'something follows its last file',
    ],
    [
      'an owner',
      ({ entries }: Parts) => Object.assign(entries[0] ?? {}, { header: owned }),
      'an entry is not a plain file',
    ],
  ])('with %s', async (_what, tamper, why) => {
    const { fault } = await unpack(image({ tamper: (parts) => void tamper(parts) }));
    expect(fault).toEqual(bad);
    expect((fault as Error).message).toContain(why);
  });

  it('with anything behind its end', async () => {
    const { files } = makeImage({ release: '2.0.0', files: {} });
    const pieces = [...files].flatMap(([path, content]) => [
      ...archiveEntry(path, content, path === 'node' || path === 'turnstone'),
    ]);
    expect((await unpack(raw(...pieces, ARCHIVE_END))).fault).toBeUndefined();
    for (const more of [1, 512, 100_000])
      expect((await unpack(raw(...pieces, ARCHIVE_END, Buffer.alloc(more)))).fault).toMatchObject({
        message: expect.stringContaining('follows its end'),
      });
    // Only what lies before the given end is looked at.
    const whole = raw(...pieces, ARCHIVE_END);
    expect((await unpack(whole, { end: whole.length - 1 })).fault).toEqual(bad);
    expect((await unpack(Buffer.concat([whole, whole]), { end: whole.length })).fault).toBeUndefined();
  });
});

type Parts = Parameters<NonNullable<ReleaseSpec['tamper']>>[0];

function swap(entries: Parts['entries'], content: Buffer): void {
  for (const entry of entries) if (entry.path === 'node') entry.content = content;
}

/** A header that would give the file to another user, sealed by its own sum. */
function owned(header: Buffer): void {
  header.write('0000007\0', 108, 'latin1');
  header.write('        ', 148, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
}

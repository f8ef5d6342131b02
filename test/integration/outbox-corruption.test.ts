/** Every byte of a small store flipped, every length cut, files swapped for strangers: it always opens, and gives every block that is whole. */
import { beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../src/host/log.ts';
import { SEGMENT_HEADER_BYTES, scanSegment, segmentHeader } from '../../src/outbox/format/segment-file.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { MemoryFiles } from '../support/memory-files.ts';
import { drain, FakeTimeSync } from '../support/outbox-fixture.ts';
import { DEFAULT_OUTBOX_SETTINGS } from '../support/outbox-settings.ts';

const FOLDER = '/outbox';
const TIMEOUT_MS = 120_000;

/** A block of the store: where it lies and what is in it. */
interface KnownBlock {
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly values: readonly string[];
}

let store: ReadonlyMap<string, Buffer>;
let blocks: readonly KnownBlock[];
const clock = new FakeClock();

async function open(files: MemoryFiles): Promise<Outbox> {
  // Small segments, so that the store has several; guesses are sent, so that a lost table of boots holds nothing back.
  const settings = { ...DEFAULT_OUTBOX_SETTINGS, maxBytes: 64 * 1024, minFreeBytes: 0, timeUncertain: 'send' as const };
  const deps = { folder: FOLDER, clock, log: silentLog, settings, timeSync: new FakeTimeSync(), files };
  return Outbox.open(deps, new AbortController().signal);
}

function filesOf(contents: ReadonlyMap<string, Buffer>): MemoryFiles {
  const files = new MemoryFiles();
  void files.makeFolder(FOLDER);
  for (const [path, bytes] of contents) files.put(path, bytes);
  return files;
}

beforeAll(async () => {
  const files = new MemoryFiles();
  const outbox = await open(files);
  const entry = (key: string, value: string | number) =>
    ({ device: 'self', key, value, bootId: clock.bootId, monotonicMs: clock.monotonicMs(), class: 'alarm' }) as const;
  for (let number = 0; number < 12; number += 1) {
    const filler = Array.from({ length: 40 }, (_none, at) =>
      String.fromCharCode(33 + ((at * 7 + number * 13) % 90)),
    ).join('');
    await outbox.append([
      entry('text', `${number} ${filler.repeat(number === 5 ? 40 : 12)}`),
      entry('number', number + 0.25),
    ]);
    await clock.advance(10);
  }
  await outbox.close();
  store = new Map(files.paths.map((path) => [path, files.contentOf(path)]));
  blocks = [];
  const found: KnownBlock[] = [];
  for (const [path, bytes] of store) {
    if (!path.endsWith('.seg')) continue;
    for (const { offset, bytes: length, firstSequence } of scanSegment(bytes).blocks) {
      const number = (firstSequence - 1) / 2;
      found.push({ path, from: offset, to: offset + length, values: [String(number + 0.25), `${number} `] });
    }
  }
  blocks = found;
});

/** Opens a damaged copy and checks that each block outside `[from, to)` of the path is given out. */
async function check(
  contents: ReadonlyMap<string, Buffer>,
  damage: { readonly path: string; readonly from: number; readonly to: number },
): Promise<void> {
  const outbox = await open(filesOf(contents));
  const given = new Set(
    (await drain(outbox)).map(({ key, value }) => (key === 'text' ? `${String(value).split(' ')[0]} ` : String(value))),
  );
  for (const block of blocks) {
    const isHit = block.path === damage.path && block.from < damage.to && damage.from < block.to;
    if (isHit) continue;
    for (const value of block.values)
      if (!given.has(value))
        throw new Error(
          `block ${block.values[0]} at ${block.path}:${block.from} is lost by damage at ${JSON.stringify(damage)}`,
        );
  }
  // Lost entries were counted, but for those at the ends of the log: nobody can tell how many they were.
  const isLost = ({ values }: KnownBlock): boolean => values.some((value) => !given.has(value));
  const first = blocks.filter(({ path }) => path === blocks[0]?.path);
  const last = blocks.at(-1);
  if (last !== undefined && !isLost(last) && !first.every(isLost))
    expect(outbox.status().damaged).toBe(2 * blocks.filter(isLost).length);
  await outbox.append([
    { device: 'self', key: 'after', value: 1, bootId: clock.bootId, monotonicMs: clock.monotonicMs(), class: 'alarm' },
  ]);
  expect((await drain(outbox)).map(({ key }) => key)).toEqual(['after']);
  await outbox.close();
}

function damaged(path: string, change: (bytes: Buffer) => Buffer): Map<string, Buffer> {
  return new Map([...store].map(([name, bytes]) => [name, name === path ? change(Buffer.from(bytes)) : bytes]));
}

describe('a damaged store', () => {
  it('is large enough to mean something', () => {
    expect(blocks).toHaveLength(12);
    expect([...store.keys()].filter((path) => path.endsWith('.seg')).length).toBeGreaterThan(1);
  });

  it(
    'opens with any one byte flipped',
    async () => {
      for (const [path, bytes] of store) {
        // Behind the last block are zeros; a flip there is a torn tail, and a few of them tell as much as all.
        const end = Math.max(
          ...blocks.filter((block) => block.path === path).map(({ to }) => to),
          path.endsWith('.seg') ? 0 : bytes.length,
        );
        for (let at = 0; at < Math.min(bytes.length, end + 24); at += 1) {
          const flipped = damaged(path, (copy) => {
            copy[at] = (copy[at] as number) ^ (1 << (at % 8));
            return copy;
          });
          await check(flipped, { path, from: at, to: at + 1 });
        }
      }
    },
    TIMEOUT_MS,
  );

  it(
    'opens cut off at any length',
    async () => {
      for (const [path, bytes] of store)
        for (let length = 0; length < bytes.length; length += path.endsWith('.seg') ? 37 : 11)
          await check(
            damaged(path, (copy) => copy.subarray(0, length)),
            { path, from: length, to: Number.POSITIVE_INFINITY },
          );
    },
    TIMEOUT_MS,
  );

  it(
    'opens with any page full of noise or zeros',
    async () => {
      for (const [path, bytes] of store)
        for (let from = 0; from < bytes.length; from += 512)
          for (const noise of [0x00, 0xa5]) {
            const to = Math.min(from + 512, bytes.length);
            await check(
              damaged(path, (copy) => copy.fill(noise, from, to)),
              { path, from, to },
            );
          }
    },
    TIMEOUT_MS,
  );

  it('sets foreign and newer files aside, counts them, and goes on', async () => {
    const strange = new Map(store);
    strange.set(`${FOLDER}/holiday.jpg`, Buffer.from('not ours'));
    strange.set(
      `${FOLDER}/0000000000000500-0.seg`,
      Buffer.from('{"format":"something else","version":1}\n'.padEnd(200)),
    );
    const newer = JSON.parse(segmentHeader().toString()) as { version: number };
    strange.set(
      `${FOLDER}/0000000000000600-0.seg`,
      Buffer.from(JSON.stringify({ ...newer, version: 99 }).padEnd(SEGMENT_HEADER_BYTES + 50)),
    );
    const files = filesOf(strange);
    const outbox = await open(files);
    expect(outbox.status().setAside).toBe(3);
    expect(files.paths.filter((path) => path.includes('set-aside/'))).toHaveLength(3);
    expect((await drain(outbox)).length).toBe(24);
    await outbox.close();
  });

  it('opens when its tables of times and deliveries are gone', async () => {
    const without = new Map([...store].filter(([path]) => path.endsWith('.seg')));
    await check(without, { path: '', from: 0, to: 0 });
  });
});

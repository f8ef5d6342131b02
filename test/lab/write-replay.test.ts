/**
 * Every write of an append run is recorded beneath the file system and replayed to each flush: unlike a killed guest, this loses what a
 * drive's cache would lose.
 */
import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { replayWrites } from './cuts/write-log.ts';
import { DiskFolder } from './disk-image.ts';
import { Guest } from './guest.ts';
import { type AppendRun, deliverAll, openOutbox } from './inside/append-run.ts';
import { missingFrom } from './numbered-entries.ts';
import { recordFigure } from './results/figures.ts';

const APPENDS = process.env.LAB_RUN === 'full' ? 250 : 40;
const execute = promisify(execFile);

interface Verdict {
  readonly points: number;
  readonly promised: number;
  /** Promised numbers that were missing at some point. */
  readonly lost: ReadonlySet<number>;
}

describe('an append run, recorded beneath the file system', () => {
  let disks: DiskFolder;
  beforeAll(async () => {
    disks = await DiskFolder.make();
  });
  afterAll(async () => await disks.remove());

  it('holds everything that was promised, replayed to every flush', { timeout: 600_000 }, async () => {
    const { points, promised, lost } = await replay(disks, await record(disks, { appends: APPENDS }));
    recordFigure('replay', { of: 'append', flushes: points, promised, losses: lost.size });
    expect([...lost]).toEqual([]);
    expect(points).toBeGreaterThan(APPENDS);
    expect(promised).toBeGreaterThan(APPENDS * 5);
  });

  it('fails for a build without fdatasync', { timeout: 300_000 }, async () => {
    const { lost } = await replay(
      disks,
      await record(disks, { appends: 20, node: '--import /lab/test/lab/inside/without-sync.ts' }),
    );
    expect(lost.size).toBeGreaterThan(0);
  });
});

interface Recording {
  readonly before: string;
  readonly log: string;
}

async function record(
  disks: DiskFolder,
  { appends, node = '' }: { readonly appends: number; readonly node?: string },
): Promise<Recording> {
  const data = await disks.ext4('data', 32);
  const before = await disks.copy(data, 'before');
  const log = await disks.empty('log', 256);
  const guest = await Guest.boot({ disks: [data, log] });
  const run: AppendRun = { folder: '/data/outbox', from: 1, appends, markOn: 'recorded' };
  await guest.run(
    `set -e
     dmsetup create recorded --noudevsync --table "0 $(blockdev --getsz /dev/vda) log-writes /dev/vda /dev/vdb"
     dmsetup mknodes
     mount /dev/mapper/recorded /data
     node ${node} /lab/test/lab/inside/append-run.ts '${JSON.stringify(run)}'
     dmsetup message recorded 0 mark end
     umount /data && dmsetup remove --noudevsync recorded && sync`,
    { deadlineMs: 240_000 },
  );
  await guest.kill();
  return { before, log };
}

async function replay(disks: DiskFolder, { before, log }: Recording): Promise<Verdict> {
  const promised = new Set<number>();
  const lost = new Set<number>();
  const image = await disks.copy(before, 'replayed');
  let points = 0;
  for await (const { kind, mark, changed } of replayWrites(log, image)) {
    if (mark === 'end') break;
    const [, first = 0, last = -1] = /^resolved-(\d+)-(\d+)$/.exec(mark)?.map(Number) ?? [];
    for (let number = first; number <= last; number += 1) promised.add(number);
    if (kind === 'flush' && !changed) continue;
    points += 1;
    for (const number of missingFrom(await numbersOn(disks, image), promised)) lost.add(number);
  }
  return { points, promised: promised.size, lost };
}

/** Starts from a copy of the image as a machine would after the cut: the file system's journal first, then the outbox. */
async function numbersOn(disks: DiskFolder, image: string): Promise<ReadonlySet<number>> {
  const copy = join(disks.path, 'started');
  const folder = join(disks.path, 'files');
  await execute('cp', ['--sparse=always', image, copy]);
  // 1: the journal was replayed.
  await execute('e2fsck', ['-p', '-E', 'journal_only', copy]).catch((error: { code?: number }) => {
    if (error.code !== 1) throw error;
  });
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await execute('debugfs', ['-R', `rdump /outbox ${folder}`, copy]);
  const found = new Set<number>();
  const outbox = await openOutbox(join(folder, 'outbox'));
  await deliverAll(outbox, async (numbers) => numbers.forEach((number) => void found.add(number)));
  await outbox.close();
  return found;
}

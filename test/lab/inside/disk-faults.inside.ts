/** An outbox on a disk that refuses writes, and on one that says it wrote and did not (dm-flakey). Runs in a guest with a spare disk. */
import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import type { Outbox } from '../../../src/outbox/outbox.ts';
import { missingFrom, numberedEntry } from '../numbered-entries.ts';
import { deliverAll, openOutbox } from './append-run.ts';

const FOLDER = '/data/outbox';
/** Longer than any test: from now on, until the table is changed back. */
const FOR_GOOD = 100_000;

type Manner = 'sound' | 'error_writes' | 'drop_writes';

function shell(script: string): void {
  execFileSync('bash', ['-ec', script], { stdio: ['ignore', 'ignore', 'pipe'] });
}

function table(manner: Manner): string {
  const target = manner === 'sound' ? 'linear /dev/vda 0' : `flakey /dev/vda 0 0 ${FOR_GOOD} 1 ${manner}`;
  return `0 $(blockdev --getsz /dev/vda) ${target}`;
}

function become(manner: Manner): void {
  // Without the freeze that suspending means by default: what waits is to meet the fault.
  shell(
    `dmsetup reload faulty --table "${table(manner)}"; dmsetup suspend --nolockfs --noflush faulty; dmsetup resume --noudevsync faulty`,
  );
}

/** As after a power cut: the file system is checked, and nothing of it is in memory any more. */
function startAgain(): void {
  shell(
    'umount /data; e2fsck -fy /dev/mapper/faulty >/dev/null || [ $? -le 1 ]; mount -o noatime,commit=300 /dev/mapper/faulty /data',
  );
}

describe('an outbox on a faulty disk', () => {
  let outbox: Outbox;
  let next: number;
  beforeEach(async () => {
    shell(`dmsetup create faulty --noudevsync --table "${table('sound')}"; dmsetup mknodes
      mkfs.ext4 -q -F /dev/mapper/faulty; mount -o noatime,commit=300 /dev/mapper/faulty /data`);
    outbox = await openOutbox(FOLDER);
    next = 1;
  });
  afterEach(async () => {
    await outbox.close();
    shell('umount /data; dmsetup remove --noudevsync faulty');
  });

  /** Several appends, one block each; resolves with their numbers when they are durable. */
  const append = async (times: number): Promise<readonly number[]> => {
    const numbers: number[] = [];
    for (let time = 0; time < times; time += 1) {
      const some = Array.from({ length: 8 }, (_, index) => next + index);
      next += some.length;
      await outbox.append(some.map((number) => numberedEntry(number, systemClock)));
      numbers.push(...some);
    }
    return numbers;
  };
  const delivered = async (): Promise<ReadonlySet<number>> => {
    const found = new Set<number>();
    await deliverAll(outbox, async (numbers) => {
      for (const number of numbers) found.add(number);
    });
    return found;
  };

  it('promises nothing while writes are refused, and loses nothing that it had promised', async () => {
    const before = await append(10);
    become('error_writes');
    let promised = false;
    const refused = append(1).then(
      () => {
        promised = true;
      },
      () => undefined,
    );
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(promised).toBe(false);
    expect(outbox.status().fault).toBeDefined();
    become('sound');
    await outbox.close();
    await refused;
    startAgain();
    outbox = await openOutbox(FOLDER);
    expect(missingFrom(await delivered(), before)).toEqual([]);
    const after = await append(3);
    expect(missingFrom(await delivered(), after)).toEqual([]);
  });

  it('goes on by itself when a disk takes writes again', async () => {
    const before = await append(3);
    become('error_writes');
    const waiting = append(1);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    become('sound');
    const after = await waiting;
    expect(outbox.status().fault).toBeUndefined();
    expect(missingFrom(await delivered(), [...before, ...after])).toEqual([]);
  });

  it('opens after dropped writes, keeps every intact block and counts what is lost', async () => {
    const before = await append(10);
    become('drop_writes');
    const lied = await append(40);
    become('sound');
    const after = await append(10);
    await outbox.close();
    startAgain();
    outbox = await openOutbox(FOLDER);
    const found = await delivered();
    expect(missingFrom(found, [...before, ...after])).toEqual([]);
    const lost = missingFrom(found, lied);
    expect(lost.length).toBeGreaterThan(0);
    expect(outbox.status().damaged).toBe(lost.length);
    expect(missingFrom(new Set(await append(2)), [])).toEqual([]);
  });
});

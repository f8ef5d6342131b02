/** The list of what the platform refused: durable, bounded by two files in turns, readable past torn lines. */

import { beforeEach, expect, it } from 'vitest';
import { RejectedFile } from '../../../../src/outbox/delivery/rejected-file.ts';
import type { ResolvedEntry } from '../../../../src/outbox/format/entry-columns.ts';
import { sealJson } from '../../../../src/store/sealed-json.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';

let files: MemoryFiles;
let list: RejectedFile;

beforeEach(() => {
  files = new MemoryFiles();
  list = new RejectedFile({ files, folder: '/outbox', maxBytes: 1_000 });
});

const entry = (sequence: number): ResolvedEntry => ({
  sequence,
  device: 'self',
  key: 'k',
  value: 1,
  ts: sequence,
  class: 'regular',
});
const kept = async (): Promise<number[]> => (await list.list()).map(({ sequence }) => sequence);

it('keeps each entry with the answer, cut to a sane length, and the time, over a power cut', async () => {
  await list.add(entry(1), 'x'.repeat(600), 7);
  files.cutPower(() => false);
  expect(await list.list()).toEqual([{ ...entry(1), answer: 'x'.repeat(500), atMs: 7 }]);
  await list.add(entry(2), 'no', 8);
  files.cutPower(() => false);
  expect(await kept()).toEqual([1, 2]);
});

it('begins another file at the bound and lets go of the one before the last', async () => {
  let most = 0;
  for (let sequence = 1; sequence <= 40; sequence += 1) {
    await list.add(entry(sequence), 'no', 0);
    most = Math.max(most, files.usedBytes);
  }
  const sequences = await kept();
  expect(sequences.at(-1)).toBe(40);
  expect(sequences).toEqual(Array.from({ length: sequences.length }, (_none, at) => 41 - sequences.length + at));
  expect(sequences.length).toBeGreaterThan(8);
  expect(most).toBeLessThanOrEqual(2_000);
  for (const name of ['rejected.jsonl', 'rejected.old.jsonl'])
    expect(files.contentOf(`/outbox/${name}`).toString()).toMatch(/^\{"format"/);
});

it('takes one entry that is larger than the bound', async () => {
  await list.add(entry(1), 'x'.repeat(500), 0);
  const small = new RejectedFile({ files, folder: '/outbox', maxBytes: 100 });
  await small.add(entry(2), 'x'.repeat(500), 0);
  expect(await kept()).toEqual([1, 2]);
});

it('shows an entry whose value is nested deeper than the platform takes it', async () => {
  const value = JSON.parse(`${'['.repeat(300)}${']'.repeat(300)}`) as readonly [];
  await list.add({ ...entry(1), value }, 'not sent: it is nested deeper than 240 levels', 0);
  expect(await list.list()).toMatchObject([{ sequence: 1, value }]);
});

it('leaves out what is no entry', async () => {
  await list.add(entry(1), 'no', 0);
  const whole = files.contentOf('/outbox/rejected.jsonl').toString();
  const others = [{ sequence: '3', key: 'k' }, { sequence: 4 }].map((one) => `${sealJson(one)}\n`).join('');
  files.put('/outbox/rejected.jsonl', whole + others);
  expect(await kept()).toEqual([1]);
});

it('keeps what comes after a line that a fault or a crash has torn, and shows nothing twice', async () => {
  await list.add(entry(1), 'no', 0);
  files.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC', short: true } : undefined) };
  await expect(list.add(entry(2), 'no', 0)).rejects.toThrow('ENOSPC');
  files.faults = {};
  await list.add(entry(2), 'no', 0);
  files.faults = { fail: (operation) => (operation === 'sync' ? { code: 'EIO' } : undefined) };
  await expect(list.add(entry(3), 'no', 0)).rejects.toThrow('EIO');
  files.faults = {};
  await list.add(entry(3), 'no', 0);
  expect(await kept()).toEqual([1, 2, 3]);
});

it('forgets those that were sent again, out of both files', async () => {
  for (let sequence = 1; sequence <= 12; sequence += 1) await list.add(entry(sequence), 'no', 0);
  const before = await list.list();
  await list.forget(before.filter(({ sequence }) => sequence % 2 === 0));
  expect(await kept()).toEqual(before.map(({ sequence }) => sequence).filter((sequence) => sequence % 2 === 1));
  expect(files.paths).toEqual(['/outbox/rejected.jsonl']);
  await list.add(entry(13), 'no', 0);
  expect((await kept()).at(-1)).toBe(13);
});

it('keeps what cannot be understood as it is, when others are forgotten', async () => {
  const path = '/outbox/rejected.jsonl';
  for (const sequence of [1, 2, 3]) await list.add({ ...entry(sequence), key: `tür${sequence}` }, 'no', 0);
  const damaged = files.contentOf(path);
  const at = damaged.indexOf('ür2');
  damaged.writeUInt8(damaged.readUInt8(at) ^ 0x40, at);
  files.put(path, damaged);
  const [, , line = ''] = damaged
    .toString('latin1')
    .split('\n')
    .filter((one) => one !== '');
  for (const gone of [3, 1]) {
    await list.forget([entry(gone)]);
    expect(files.contentOf(path).toString('latin1').split('\n')).toContain(line);
  }
  expect([
    await kept(),
    files
      .contentOf(path)
      .toString('latin1')
      .split('\n')
      .filter((one) => one !== ''),
  ]).toEqual([[], [expect.stringMatching(/^\{"format"/), line]]);
});

it('knows an entry by its time, too: a number is given again on a disk that lost all but this', async () => {
  await list.add({ ...entry(7), ts: 1_000 }, 'no', 0);
  await list.add({ ...entry(7), ts: 5_000 }, 'no', 0);
  await list.forget([{ ...entry(7), ts: 5_000 }]);
  expect((await list.list()).map(({ ts }) => ts)).toEqual([1_000]);
});

it('counts its bound in bytes, and begins no other file for the first of one that has none', async () => {
  list = new RejectedFile({ files, folder: '/outbox', maxBytes: 1 });
  await list.add(entry(1), 'no', 0);
  expect(files.paths).toEqual(['/outbox/rejected.jsonl']);
  list = new RejectedFile({ files, folder: '/outbox', maxBytes: 1_000 });
  await list.forget([entry(1)]);
  for (const answer of ['no', 'ü'.repeat(450)]) await list.add(entry(2), answer, 0);
  expect(files.paths).toEqual(['/outbox/rejected.jsonl', '/outbox/rejected.old.jsonl']);
});

/** The log of records: what a cut, a flipped bit, a full disk and a failed open leave of it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { RecordLog, sealedObject } from '../../../src/store/record-log.ts';
import { sealJson } from '../../../src/store/sealed-json.ts';
import { type Faults, MemoryFiles } from '../../support/memory-files.ts';
import { everyDamage } from '../../support/one-bit.ts';
import { mulberry32 } from '../../support/random-bytes.ts';

interface Count {
  readonly n: number;
  readonly name: string;
}

const PATH = '/state/counts.jsonl';
const HEADER = '{"format":"turnstone/counts","version":2}';
const APPENDED = { isDurable: true };

let files: MemoryFiles;

beforeEach(async () => {
  files = new MemoryFiles();
  await files.makeFolder('/state');
});

function logOf(compactAfterBytes?: number): RecordLog<Count> {
  return new RecordLog<Count>({
    files,
    path: PATH,
    format: 'turnstone/counts',
    version: 2,
    limitBytes: 100_000,
    compactAfterBytes,
    lineOf: ({ n, name }) => sealJson({ n, name }),
    recordOf: (line) => {
      const { n, name } = sealedObject(line) ?? {};
      return typeof n === 'number' && typeof name === 'string' ? { n, name } : undefined;
    },
  });
}

const count = (n: number): Count => ({ n, name: `Zähler ${n}` });
const counts = async (log = logOf()): Promise<number[]> => (await log.read()).values.map(({ n }) => n);

async function written(...numbers: number[]): Promise<Buffer> {
  const log = logOf();
  for (const n of numbers) await log.append([count(n)], APPENDED);
  return files.contentOf(PATH);
}

it('has after a power cut what was appended durably, and its own name at the head', async () => {
  await written(1, 2);
  files.cutPower(() => false);
  expect([await counts(), files.contentOf(PATH).toString().split('\n')[0]]).toEqual([[1, 2], HEADER]);
});

it('syncs nothing where no power cut is to be survived', async () => {
  const log = logOf();
  await log.append([count(1)], { isDurable: false });
  expect(files.changes.filter((change) => change.startsWith('sync'))).toEqual([]);
  expect(await counts()).toEqual([1]);
});

it.each([false, true])('goes on behind every cut of a write, read before or not (%s)', async (isRead) => {
  const whole = await written(1, 2);
  for (let bytes = 0; bytes <= whole.length; bytes += 1) {
    files.put(PATH, whole.subarray(0, bytes));
    const left = await counts();
    expect(left).toEqual([1, 2].slice(0, left.length));
    expect(left.length === 2).toBe(bytes === whole.length);
    const log = logOf();
    if (isRead) await log.read();
    await log.append([count(3)], APPENDED);
    const text = files.contentOf(PATH).toString();
    expect([await counts(), text.split('\n')[0], (await logOf().read()).damaged]).toEqual([[...left, 3], HEADER, []]);
  }
});

it('passes over the one record of which a bit is wrong, and says which line it was', async () => {
  await written(1, 2, 3);
  const lines = files.contentOf(PATH).toString().split('\n');
  for (const damaged of everyDamage(lines[2] ?? '')) {
    const line = damaged.toString().replaceAll('\n', ' ');
    files.put(PATH, lines.with(2, line).join('\n'));
    const found = await logOf().read();
    expect([found.values.map(({ n }) => n), found.damaged.map(String)]).toEqual([[1, 3], [line]]);
  }
});

it('reads its records behind a damaged head, and nothing of a file that names something else', async () => {
  const whole = (await written(1, 2)).toString();
  for (const damaged of everyDamage(HEADER)) {
    files.put(PATH, whole.replace(HEADER, damaged.toString().replaceAll('\n', ' ')));
    const { values, isForeign } = await logOf().read();
    expect(values.map(({ n }) => n)).toEqual(isForeign ? [] : [1, 2]);
  }
  for (const head of ['{"format":"turnstone/others","version":1}', '{"format":"turnstone/counts","version":3}', '7']) {
    files.put(PATH, whole.replace(HEADER, head));
    const log = logOf();
    expect(await log.read()).toEqual({ values: [], damaged: [], isForeign: true });
    await log.append([count(3)], APPENDED);
    expect([await counts(), files.contentOf(PATH).toString().split('\n')[0]]).toEqual([[3], HEADER]);
  }
});

it('finds the end of a file whose last record is longer than one look', async () => {
  const log = logOf();
  await log.append([{ n: 1, name: 'x'.repeat(70_000) }], APPENDED);
  files.put(PATH, Buffer.concat([files.contentOf(PATH), Buffer.from('{"n":2,"name":"half')]));
  await logOf().append([count(3)], APPENDED);
  expect(await counts()).toEqual([1, 3]);
});

describe.each<[string, Faults]>([
  ['a full disk', { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC', short: true } : undefined) }],
  ['too many open files', { fail: (operation) => (operation === 'open' ? { code: 'EMFILE' } : undefined) }],
  ['a sync that fails', { fail: (operation) => (operation === 'sync' ? { code: 'EIO' } : undefined) }],
])('with %s', (_what, faults) => {
  it.each([
    ['the first', []],
    ['a later', [1]],
  ] as const)('has nothing of %s write, at once and after it was tried again', async (_which, before) => {
    const log = logOf();
    for (const n of before) await log.append([count(n)], APPENDED);
    files.faults = faults;
    await expect(log.append([count(2), count(3)], APPENDED)).rejects.toThrow();
    files.faults = {};
    expect(await counts(log)).toEqual(before);
    await log.append([count(4)], APPENDED);
    files.cutPower(() => false);
    expect([await counts(log), await counts()]).toEqual([
      [...before, 4],
      [...before, 4],
    ]);
  });
});

it('writes nothing behind the rest of a write that cannot be cut off', async () => {
  const log = logOf();
  await log.append([count(1)], APPENDED);
  files.faults = { fail: (operation) => (operation === 'sync' ? { code: 'EIO' } : undefined) };
  await expect(log.append([count(2), count(3)], APPENDED)).rejects.toThrow();
  files.faults = { fail: (operation) => (operation === 'truncate' ? { code: 'EIO' } : undefined) };
  await expect(log.append([count(2)], APPENDED)).rejects.toThrow();
  expect(await counts(log)).toEqual([1]);
});

it.each([1, 50])('puts the %i records in force in place of all once so much was added to them', async (inForceNow) => {
  const log = logOf(1_000);
  const force = Array.from({ length: inForceNow }, (_, n) => count(n));
  await log.replace(force);
  const least = files.contentOf(PATH).length;
  let most = 0;
  let replaced = 0;
  for (let n = 1; n <= 100; n += 1) {
    const before = files.contentOf(PATH).length;
    await log.append([count(n)], { isDurable: false, inForce: () => [...force.slice(1), count(n)] });
    const bytes = files.contentOf(PATH).length;
    most = Math.max(most, bytes);
    if (bytes < before) replaced += 1;
    expect((await counts()).at(-1)).toBe(n);
  }
  expect(most).toBeLessThanOrEqual(least + 1_000);
  expect(most).toBeGreaterThan(least + 900);
  expect([replaced >= 4, replaced <= 6]).toEqual([true, true]);
});

it('has all that is in force after a write that failed, where its owner knows it', async () => {
  const log = logOf();
  const inForce = (): readonly Count[] => [1, 2, 3].map(count);
  await log.append([count(1)], APPENDED);
  files.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) };
  await expect(log.append([count(2)], { isDurable: true, inForce })).rejects.toThrow('ENOSPC');
  files.faults = {};
  await log.append([count(3)], { isDurable: true, inForce });
  expect([await counts(log), await counts()]).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ]);
});

it('has the old records or the new ones, whenever the power goes while they are exchanged', async () => {
  const whole = await written(1, 2);
  for (let changes = 1; changes < 10; changes += 1)
    for (const at of ['before', 'inside', 'after'] as const) {
      const random = mulberry32(changes);
      files.put(PATH, whole);
      const end = files.cutAt(changes, at, () => files.cutPower(() => random() > 0.5));
      await logOf()
        .replace([count(3)])
        .catch(() => {});
      end();
      expect([[1, 2], [3]]).toContainEqual(await counts());
    }
});

it('keeps damaged lines as they are where its owner asks for it', async () => {
  await written(1);
  files.put(PATH, Buffer.concat([files.contentOf(PATH), Buffer.from([0xff, 0x0a]), Buffer.from('8\n')]));
  const { damaged } = await logOf().read();
  await logOf().replace([count(2)], damaged);
  expect([await counts(), (await logOf().read()).damaged]).toEqual([[2], [Buffer.from([0xff]), Buffer.from('8')]]);
});

it('cuts off the first record that is not to stay, and what is behind it', async () => {
  await written(1, 2, 3);
  const log = logOf();
  await log.cutFrom(({ n }) => n === 9);
  expect(await counts()).toEqual([1, 2, 3]);
  await log.cutFrom(({ n }) => n === 2);
  await log.append([count(4)], APPENDED);
  expect(await counts()).toEqual([1, 4]);
});

it('begins again where the file went away or was cut from outside', async () => {
  const log = logOf();
  await log.append([count(1)], APPENDED);
  files.put(PATH, files.contentOf(PATH).subarray(0, 50));
  await log.append([count(2)], APPENDED);
  expect(await counts()).toEqual([2]);
  files.remove(PATH);
  await log.append([count(3)], APPENDED);
  expect(await counts()).toEqual([3]);
});

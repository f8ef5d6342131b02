/** Files that a start finds in the outbox's folder. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { segmentHeader } from '../../../../src/outbox/format/segment-file.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { drain, NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
let files: MemoryFiles;

beforeEach(async () => {
  fixture = await OutboxFixture.make({ commitAgeMs: 100 });
  files = new MemoryFiles();
  fixture.files = files;
});
afterEach(() => fixture.remove());

const names = (): string[] => files.paths.map((path) => path.slice(fixture.folder.length + 1));
const put = (name: string, content: Uint8Array | string): void => files.put(`${fixture.folder}/${name}`, content);

it('removes a segment whose first commit never became durable, and what a write left beside its target', async () => {
  put('0000000000000001-0.seg', Buffer.concat([segmentHeader(), Buffer.alloc(8_000)]));
  put('0000000000000009-0.seg', '');
  put('boots.json.tmp', '{');
  const outbox = await fixture.open();
  expect(names()).toEqual([]);
  expect(outbox.status().setAside).toBe(0);
});

it('sets aside what is not its own, is newer than it, or is damaged from end to end', async () => {
  put('holiday.jpg', 'not ours');
  put('0000000000000001-0.seg', '{"format":"turnstone-outbox-segment","version":99}'.padEnd(200));
  put('0000000000000005-0.seg', Buffer.concat([segmentHeader(), Buffer.alloc(8_000, 7)]));
  put('0000000000000007-0.seg', 'a text that somebody wrote');
  const outbox = await fixture.open();
  expect(names().every((name) => name.startsWith('set-aside/'))).toBe(true);
  expect([names().length, outbox.status().setAside]).toEqual([4, 4]);
});

it('sets aside what is not its own wherever it stands among segments, and counts none of it as lost', async () => {
  const outbox = await fixture.open();
  await fixture.commit(outbox, [fixture.entry('a', 1)]);
  await fixture.until(outbox.close());
  const [own = ''] = names().filter((name) => name.endsWith('.seg'));
  files.put(`${fixture.folder}/0000000000000900-0.seg`, files.contentOf(`${fixture.folder}/${own}`));
  put('0000000000000500-0.seg', 'a text that somebody wrote');
  put('0000000000000600-0.seg', '{"format":"turnstone-outbox-segment","version":99}'.padEnd(200));
  const again = await fixture.open();
  expect(again.status()).toMatchObject({ setAside: 2, damaged: 0 });
  expect(names()).toEqual(
    expect.arrayContaining(['set-aside/0000000000000500-0.seg', 'set-aside/0000000000000600-0.seg']),
  );
});

it.each([
  ['with another beginning', Buffer.from('x')],
  ['that begins as one of ours', segmentHeader()],
])('reads nothing into memory that is far larger than a segment, and sets it aside: a file %s', async (_name, head) => {
  const large = Buffer.alloc(64 * 1024 * 1024 + 1, 'x');
  large.set(head);
  files.put(`${fixture.folder}/0000000000000001-0.seg`, large);
  let reads = 0;
  files.faults = {
    fail: (operation) => {
      if (operation === 'read') reads += 1;
      return undefined;
    },
  };
  expect((await fixture.open()).status()).toMatchObject({ setAside: 1, segments: 0 });
  expect(reads).toBe(0);
});

it('reads no more at a start than the beginning of each segment, and all of the newest', async () => {
  fixture.settings = { ...fixture.settings, maxBytes: 64 * 1024 };
  const outbox = await fixture.open();
  for (let block = 0; block < 30; block += 1) await fixture.commit(outbox, fixture.noise(100, block * 100));
  await fixture.until(outbox.close());
  const segments = files.paths.filter((path) => path.endsWith('.seg'));
  expect(segments.length).toBeGreaterThan(2);
  const reads: string[] = [];
  files.faults = {
    fail: (operation, path) => {
      if (operation === 'read' && path.endsWith('.seg')) reads.push(path);
      return undefined;
    },
  };
  await fixture.open();
  expect(reads.sort()).toEqual([...segments, segments.at(-1)]);
});

it('takes a segment whose beginning is destroyed for one, as long as a block of it is whole', async () => {
  const outbox = await fixture.open();
  for (let at = 0; at < 40; at += 1) await fixture.commit(outbox, fixture.noise(20, 20 * at));
  await fixture.until(outbox.close());
  const [own = ''] = names().filter((name) => name.endsWith('.seg'));
  const content = files.contentOf(`${fixture.folder}/${own}`);
  content.fill('?', 0, 1_000);
  put(own, content);
  const again = await fixture.open();
  expect(again.status().setAside).toBe(0);
  expect((await drain(again)).length).toBeGreaterThan(600);
});

it('takes a segment for its own when a bit of its header is another', async () => {
  const outbox = await fixture.open();
  await fixture.commit(outbox, [fixture.entry('a', 1)]);
  await fixture.until(outbox.close());
  const [own = ''] = names().filter((name) => name.endsWith('.seg'));
  const content = files.contentOf(`${fixture.folder}/${own}`);
  content.write('q', content.indexOf('turnstone'));
  put(own, content);
  const again = await fixture.open();
  expect(again.status()).toMatchObject({ setAside: 0, heldEntries: 1 });
});

it.each([
  ['tells no size', 'facts'],
  ['cannot be opened', 'open'],
  ['cannot be read', 'read'],
] as const)('costs no segment when too many files are open: one %s', async (_name, operation) => {
  const outbox = await fixture.open();
  await fixture.commit(outbox, [fixture.entry('a', 1)]);
  await fixture.until(outbox.close());
  files.faults = {
    fail: (asked, path) => (asked === operation && path.endsWith('.seg') ? { code: 'EMFILE' } : undefined),
  };
  await expect(fixture.open()).rejects.toMatchObject({ code: 'outbox/open-failed' });
  files.faults = {};
  expect((await fixture.open()).status()).toMatchObject({ setAside: 0, heldEntries: 1 });
});

it('bounds what is set aside by a sixty-fourth of all: the last in the order of names stay', async () => {
  fixture.settings = { ...fixture.settings, maxBytes: 64_000 };
  for (const name of ['a', 'b', 'c', 'd']) put(name, Buffer.alloc(400, name));
  await fixture.open();
  expect(names()).toEqual(['set-aside/c', 'set-aside/d']);
});

it.each([
  ['rejected.jsonl', 1_000_000, 256_000_000, false],
  ['rejected.jsonl', 1_000_100, 256_000_000, true],
  ['rejected.jsonl', 1_000_100, 2_000_000_000, true],
  ['rejected.jsonl', 9_900, 2_560_000, false],
  ['rejected.jsonl', 10_100, 2_560_000, true],
])('begins another %s than one of %i bytes in an outbox of %i: %s', async (name, bytes, maxBytes, another) => {
  fixture.settings = { ...fixture.settings, maxBytes };
  put(name, '#'.repeat(bytes - 150));
  const outbox = await fixture.open();
  await fixture.commit(outbox, [fixture.entry('a', 1)]);
  const entry = (await outbox.peek('live', NO_LIMITS))?.entries.at(0);
  if (entry === undefined) throw new Error('nothing is given out');
  await outbox.reject(entry, 'no');
  expect(names().includes('rejected.old.jsonl')).toBe(another);
});

it.each([
  [256_000_000, 500_000, 1],
  [256_000_000, 500_001, 2],
  [2_000_000_000, 1_000_001, 2],
  [2_560_000, 5_001, 2],
  [2_560_000, 5_000, 1],
])('in an outbox of %i bytes goes on with a ledger of %i bytes in %i file', async (maxBytes, bytes, expected) => {
  fixture.settings = { ...fixture.settings, maxBytes };
  put('ledger-0000000000.jsonl', `${'#'.repeat(bytes - 1)}\n`);
  const outbox = await fixture.open();
  await fixture.commit(outbox, [fixture.entry('a', 1)]);
  await drain(outbox);
  await fixture.clock.advance(3_700_000);
  expect(names().filter((name) => name.startsWith('ledger-'))).toHaveLength(expected);
});

it('leaves alone what others put into every folder, and its own', async () => {
  for (const name of ['rejected.jsonl', 'rejected.old.jsonl', 'ledger-0000000001.jsonl']) put(name, '');
  await files.makeFolder(`${fixture.folder}/lost+found`);
  expect((await fixture.open()).status().setAside).toBe(0);
});

it('keeps each of two files of one name that are set aside', async () => {
  put('set-aside/holiday.jpg', 'the first');
  put('holiday.jpg', 'the second');
  await fixture.open();
  expect(names()).toEqual(['set-aside/holiday.jpg', 'set-aside/holiday.jpg.1']);
});

it('takes the latest try of a segment, and sets the others aside', async () => {
  const outbox = await fixture.open();
  await fixture.commit(outbox, [fixture.entry('a', 1)]);
  await fixture.until(outbox.close());
  const [whole = ''] = names().filter((name) => name.endsWith('.seg'));
  const content = files.contentOf(`${fixture.folder}/${whole}`);
  put(whole.replace('-0.seg', '-1.seg'), content);
  put(whole.replace('-0.seg', '-2.seg'), content);
  const again = await fixture.open();
  expect(again.status()).toMatchObject({ setAside: 2, heldEntries: 1 });
  expect(names()).toContain(whole.replace('-0.seg', '-2.seg'));
  expect(await drain(again)).toHaveLength(1);
});

it('knows a boot once, however often the agent starts in it, and the last 256 boots', async () => {
  const boots = (): { bootId: string }[] =>
    JSON.parse(files.contentOf(`${fixture.folder}/boots.json`).toString()).boots;
  for (let start = 0; start < 3; start += 1) await fixture.until((await fixture.open()).close());
  expect(boots()).toHaveLength(1);
  for (let boot = 2; boot <= 260; boot += 1) {
    fixture.clock.reboot({ bootId: `boot-${boot}` });
    await (await fixture.open()).close();
  }
  expect(boots()).toHaveLength(256);
  expect(boots().at(-1)?.bootId).toBe('boot-260');
});

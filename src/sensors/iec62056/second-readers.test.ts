/** Answers of a second reader to the same readouts (test/second-readers), beside those of this driver. Each difference has its reason. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readJsonLines, readNamedLines } from '../../../test/support/json-lines.ts';
import { identificationIn, readoutIn } from './frames.ts';
import { setsIn } from './values.ts';

type Set = readonly [address: string | null, value: string, unit: string | null];

const FIXTURES = join(import.meta.dirname, '../../../test/fixtures/meters/iec62056');
const answers = await readNamedLines<readonly Set[] | { readonly error: string }>(
  join(FIXTURES, 'second-readers.jsonl'),
);
const recorded = await readJsonLines<Readonly<Record<'country' | 'maker' | 'meter' | 'telegram', string>>>(
  join(FIXTURES, 'telegrams.jsonl'),
);
const telegrams: ReadonlyMap<string, Buffer> = new Map(
  recorded.map((one) => [`${one.country} ${one.maker} ${one.meter}`, Buffer.from(one.telegram, 'hex')]),
);

/** Readouts that iec62056-21 0.0.2 does not read, and why: its check sum is wrong on the wire. */
const NOT_READ = ['DE Itron ACE3000 type 260, damaged on its line'];
/** Codes of four groups, which have no meaning here; the second reader takes any text before a bracket. */
const NO_CODE = /^1-1:0\.5\.1\.2$/;

function textOf(name: string) {
  const telegram = telegrams.get(name) ?? Buffer.alloc(0);
  return readoutIn(telegram.subarray(identificationIn(telegram)?.used))?.value;
}

it('it has an answer to each readout', () => {
  expect(Object.keys(answers).sort()).toEqual([...telegrams.keys()].sort());
});

it.each(Object.entries(answers))('iec62056-21 reads the same brackets in %s, or is known not to', (name, answer) => {
  const isRead = Array.isArray(answer);
  expect(isRead).toBe(!NOT_READ.includes(name));
  const block = textOf(name);
  expect(block?.isGood).toBe(isRead);
  if (!isRead) return;
  const theirs = answer.filter(([address]: Set) => address === null || !NO_CODE.test(address));
  const sets = setsIn(block?.text ?? '');
  const ours = sets.flatMap(({ places }) => places.map(({ text, unit }) => [text, unit]));
  // A bracket without a code of its own is never cut at its unit there.
  expect(ours).toEqual(theirs.map(([, value, unit]: Set) => [value.trim(), unit ?? '']));
  const codes = theirs.flatMap(([address]: Set) => (address === null ? [] : setsIn(`${address}(0)`)));
  expect(sets.map(({ channel, code, past }) => [channel, code, past])).toEqual(
    codes.map(({ channel, code, past }) => [channel, code, past]),
  );
});

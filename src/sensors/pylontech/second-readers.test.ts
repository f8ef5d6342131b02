/** Values of a second reader of the same frames (test/second-readers), beside those of this driver. Each difference has its reason. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readJsonLines, readNamedLines } from '../../../test/support/json-lines.ts';
import { type Damage, type Frame, FrameCutter } from './frames.ts';
import { outcomesOf } from './values.ts';

type Values = Readonly<Record<string, number>>;

const FIXTURES = join(import.meta.dirname, '../../../test/fixtures/meters/pylontech');
const theirs = await readNamedLines<readonly Values[] | { readonly error: string }>(
  join(FIXTURES, 'second-readers.jsonl'),
);
const frames = await readJsonLines<{
  readonly name: string;
  readonly maker: string;
  readonly stack: boolean;
  readonly frame: string;
}>(join(FIXTURES, 'frames.jsonl'));

/** python-pylontech 0.3.3 reads this one of Seplos as -181 A and 5.3 V: it holds neither length nor voltage against the cells. */
const READ_WRONGLY = ['16 cells, protocol 20'];

function ourValues(frame: string, isStack: boolean): Values {
  const found: (Frame | Damage)[] = [];
  new FrameCutter((one) => found.push(one)).cutBytes(Buffer.from(`~${frame}\r`));
  const [only] = found;
  if (only === undefined || 'damage' in only) throw new Error(`no frame: ${JSON.stringify(only)}`);
  const outcomes = outcomesOf(only.information, isStack);
  return Object.fromEntries(outcomes.map((one) => [one.key, 'fault' in one ? Number.NaN : Number(one.value)]));
}

it('it has an answer to each frame', () => {
  expect(Object.keys(theirs)).toEqual(frames.map(({ name }) => name));
});

it.each(frames.filter(({ maker }) => maker === 'Pylontech'))(
  'python-pylontech reads the same values in $name',
  (one) => {
    const modules = theirs[one.name];
    if (!Array.isArray(modules)) throw new Error('not read');
    const expected = modules.flatMap((module: Values, at) =>
      Object.entries(module).map(([key, value]) => [`${key}${one.stack ? `_m${at + 1}` : ''}`, value] as const),
    );
    const ours = ourValues(one.frame, one.stack);
    // The state of charge is computed of both capacities.
    expect(
      Object.keys(ours)
        .filter((key) => !key.startsWith('batterySoc'))
        .sort(),
    ).toEqual(expected.map(([key]) => key).sort());
    for (const [key, value] of expected) expect([key, ours[key]]).toEqual([key, expect.closeTo(value, 6)]);
  },
);

it.each(frames.filter(({ maker }) => maker !== 'Pylontech'))(
  'that of $maker ($name) is refused here, and not read there but for what it takes for a battery',
  ({ name, frame, stack }) => {
    expect(() => ourValues(frame, stack)).toThrow(/another content than that of Pylontech's protocol/);
    expect(Array.isArray(theirs[name])).toBe(READ_WRONGLY.includes(name));
  },
);

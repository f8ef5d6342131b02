/** The table of what counts as the same command: the page beside it says the same, and what it promises holds for every case there is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  DEEDS,
  type Deed,
  type EarlierRequest,
  type Effect,
  rememberedForMs,
  SAME_COMMAND,
  type Verdict,
  verdictOn,
} from '../../../src/rpc/same-command.ts';

const S = 1_000;
const MIN = 60 * S;
const H = 60 * MIN;
const UNITS: Readonly<Record<string, number>> = { s: S, min: MIN, h: H };
const IDS = ['same', 'higher', 'lower'] as const;
const REPLIES = ['taken', 'not taken'] as const;
const PLATFORMS = ['steady', 'doubtful', 'restarted'] as const;

const every: readonly Omit<EarlierRequest, 'quietMs'>[] = IDS.flatMap((id) =>
  REPLIES.flatMap((reply) => PLATFORMS.map((platform) => ({ id, reply, platform }))),
);
const verdictAfter = (quietMs: number, earlier: Omit<EarlierRequest, 'quietMs'>): Verdict =>
  verdictOn({ ...earlier, quietMs });

/** The cells of a table of the page, by the first word of its head. */
function tableOf(first: string): string[][] {
  const page = readFileSync(join(import.meta.dirname, '../../../src/rpc/SAME-COMMAND.md'), 'utf8').split('\n');
  const head = page.findIndex((line) => line.startsWith(`| ${first} |`));
  const length = page.slice(head).findIndex((line) => !line.startsWith('|'));
  return page.slice(head + 2, head + length).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('the page beside the table', () => {
  it('has its rows, in order', () => {
    const cell = (allowed: 'any' | readonly string[]): string => (allowed === 'any' ? 'any' : allowed.join(' or '));
    const rows = tableOf('id').map(([id, reply, platform, within = '', verdict]) => {
      const [amount, unit = ''] = within.split(' ');
      return [id, reply, platform, Number(amount) * (UNITS[unit] ?? Number.NaN), verdict];
    });
    expect(rows).toEqual(
      SAME_COMMAND.map((row) => [cell(row.id), cell(row.reply), cell(row.platform), row.withinMs, row.verdict]),
    );
  });

  it('has its deeds', () => {
    const rows = tableOf('verdict').map(([verdict, read, set, move]) => [verdict, { read, set, move }]);
    expect(Object.fromEntries(rows)).toEqual(DEEDS);
  });
});

describe('what counts as the same command', () => {
  it.each<[Verdict, Partial<EarlierRequest>]>([
    ['same', { quietMs: 30 * S - 1, reply: 'not taken' }],
    ['undecidable', { quietMs: 30 * S, reply: 'not taken' }],
    ['undecidable', { quietMs: 0, reply: 'not taken', platform: 'doubtful' }],
    ['undecidable', { quietMs: 0, reply: 'not taken', platform: 'restarted' }],
    ['undecidable', { quietMs: 0 }],
    ['undecidable', { quietMs: 10 * MIN - 1 }],
    ['new', { quietMs: 10 * MIN }],
    ['undecidable', { quietMs: 24 * H - 1, reply: 'not taken' }],
    ['new', { quietMs: 24 * H, reply: 'not taken' }],
    ['new', { id: 'higher', quietMs: 0 }],
    ['new', { id: 'lower', quietMs: 0 }],
    ['new', { id: 'higher', quietMs: 0, reply: 'not taken', platform: 'doubtful' }],
    ['undecidable', { id: 'higher', quietMs: 24 * H - 1, reply: 'not taken', platform: 'restarted' }],
    ['new', { id: 'higher', quietMs: 24 * H, reply: 'not taken', platform: 'restarted' }],
    ['undecidable', { id: 'lower', quietMs: 24 * H - 1, reply: 'not taken' }],
    ['new', { id: 'lower', quietMs: 24 * H, reply: 'not taken' }],
  ])('is %s for %j', (verdict, facts) => {
    expect(verdictOn({ id: 'same', reply: 'taken', platform: 'steady', quietMs: 0, ...facts })).toBe(verdict);
  });

  it('is never "same" for another id, an answer that was given, a platform that may have restarted, or after 30 s', () => {
    for (const earlier of every)
      for (const quietMs of [0, 29 * S, 31 * S, H])
        if (verdictAfter(quietMs, earlier) === 'same')
          expect([earlier.id, earlier.reply, earlier.platform, quietMs < 30 * S]).toEqual([
            'same',
            'not taken',
            'steady',
            true,
          ]);
  });

  it('becomes new with time, never older, whatever it was', () => {
    const age: Readonly<Record<Verdict, number>> = { same: 0, undecidable: 1, new: 2 };
    for (const earlier of every) {
      const ages = [0, 31 * S, 11 * MIN, 25 * H].map((quietMs) => age[verdictAfter(quietMs, earlier)]);
      expect(ages).toEqual(ages.toSorted());
      expect(ages.at(-1)).toBe(2);
    }
  });

  it('is remembered for as long as any row can need it', () => {
    for (const earlier of every) {
      const moveMs = rememberedForMs('move', earlier.reply);
      expect(verdictAfter(moveMs, earlier)).toBe('new');
      for (const effect of ['read', 'set'] as const) {
        const done = (quietMs: number): Deed => DEEDS[verdictAfter(quietMs, earlier)][effect];
        expect([done(rememberedForMs(effect, earlier.reply)), done(24 * H)]).toEqual(['act', 'act']);
      }
    }
    expect([
      rememberedForMs('move', 'taken'),
      rememberedForMs('move', 'not taken'),
      rememberedForMs('set', 'taken'),
    ]).toEqual([10 * MIN, 24 * H, 30 * S]);
  });

  it('never moves twice nor says that it moved where it cannot be told, and never keeps an old answer for what may be done twice', () => {
    const deeds = (effect: Effect): readonly Deed[] =>
      (['same', 'undecidable'] as const).map((verdict) => DEEDS[verdict][effect]);
    expect([deeds('move'), deeds('set'), deeds('read')]).toEqual([
      ['reply', 'outcome-unknown'],
      ['reply', 'act'],
      ['reply', 'act'],
    ]);
  });
});

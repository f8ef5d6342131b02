/** Keys of which each entry is refused: how many refusals make one, what makes it forgotten, and how many are known. */
import { beforeEach, expect, it } from 'vitest';
import { EntryColumns } from '../../../../src/outbox/format/entry-columns.ts';
import { RefusedKeys } from '../../../../src/telemetry/answers/refused-keys.ts';

let keys: RefusedKeys;
beforeEach(() => {
  keys = new RefusedKeys();
});

function entries(...names: readonly string[]): EntryColumns {
  return EntryColumns.of(
    names.map((key, sequence) => ({ sequence, device: 'self', key, value: 1, ts: 1, class: 'regular' })),
  );
}

function refuse(key: string, times = 3): void {
  for (let time = 0; time < times; time += 1) {
    keys.accepted(entries('other'));
    keys.refused(entries(key));
  }
}

const found = (...names: readonly string[]): number[] => [...keys.sequencesIn(entries(...names)).keys()];

it('needs three refusals, with something accepted between them', () => {
  refuse('a', 2);
  for (let time = 0; time < 5; time += 1) keys.refused(entries('a'));
  expect(found('b', 'a')).toEqual([]);
  refuse('a', 1);
  expect(found('b', 'a', 'a')).toEqual([1, 2]);
});

it('is forgotten when an entry of the key passes, alone or among others', () => {
  for (const passed of [entries('a'), entries('b', 'a')]) {
    refuse('a');
    keys.accepted(passed);
    expect(found('a')).toEqual([]);
    refuse('a', 2);
    expect(found('a')).toEqual([]);
  }
});

it('tells a key of one device from that of another', () => {
  refuse('a');
  const other = EntryColumns.of([{ sequence: 7, device: 'meter', key: 'a', value: 1, ts: 1, class: 'regular' }]);
  expect([...keys.sequencesIn(other)]).toEqual([]);
});

function entryOf(device: string, key = 'a'): EntryColumns {
  return EntryColumns.of([{ sequence: 7, device, key, value: 1, ts: 1, class: 'regular' }]);
}

it('is suspected of every device once two were refused it, until it passes there', () => {
  const isSuspect = (device: string): boolean | undefined => keys.sequencesIn(entryOf(device)).get(7);
  keys.refused(entryOf('one'));
  expect([isSuspect('one'), isSuspect('three')]).toEqual([undefined, undefined]);
  keys.refused(entryOf('two'));
  expect([isSuspect('one'), isSuspect('three'), isSuspect('four')]).toEqual([true, false, false]);
  keys.accepted(entryOf('three'));
  expect([isSuspect('three'), isSuspect('four')]).toEqual([undefined, false]);
  expect([...keys.sequencesIn(entryOf('four', 'b'))]).toEqual([]);
  keys.accepted(entryOf('one'));
  expect([isSuspect('two'), isSuspect('four')]).toEqual([undefined, undefined]);
});

it('knows 256 keys, and forgets the one that was refused longest ago', () => {
  for (let key = 0; key <= 256; key += 1) refuse(`k${key}`);
  expect(found('k0', 'k1', 'k256')).toEqual([1, 2]);
});

/** Answers of second readers to the same telegrams (test/second-readers), beside those of this driver. Each difference has its reason. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readJsonLines, readNamedLines } from '../../../test/support/json-lines.ts';
import { systemFiles } from '../../host/files.ts';
import { plainOf } from '../families/ciphers/dlms-cipher.ts';
import { type Datum, dataOf } from './data.ts';
import { readingsOf } from './driver.ts';
import { FrameCutter } from './frames.ts';
import { readLists } from './lists.ts';
import { MessageJoiner } from './segments.ts';

type Leaf = number | string;
interface Answers {
  readonly gurux: readonly Leaf[] | { readonly error: string } | null;
  readonly amshan: Readonly<Record<string, number | string>> | null;
}

const FIXTURES = join(import.meta.dirname, '../../../test/fixtures/meters/dlms');
const answers = await readNamedLines<Answers>(join(FIXTURES, 'second-readers.jsonl'));
const recorded = await readJsonLines<Readonly<Record<'country' | 'maker' | 'list' | 'telegram', string>>>(
  join(FIXTURES, 'telegrams.jsonl'),
);
const telegrams: ReadonlyMap<string, Buffer> = new Map(
  recorded.map((one) => [`${one.country} ${one.maker} ${one.list}`, Buffer.from(one.telegram, 'hex')]),
);
const lists = await readLists(systemFiles);
const KEYS = {
  key: Buffer.from('000102030405060708090A0B0C0D0E0F', 'hex'),
  authenticationKey: Buffer.from('D0D1D2D3D4D5D6D7D8D9DADBDCDDDEDF', 'hex'),
  systemTitle: Buffer.from('4b464d1010000023', 'hex'),
};

/** Telegrams that gurux-dlms 1.0.203 does not read, and why. */
const NOT_BY_GURUX: readonly (readonly [names: RegExp, why: string])[] = [
  [/^NO Kaifa/, 'the time of the message stands in octets (09 0C), which it takes for a length'],
  [/^AT Kaifa|^made Sagemcom/, 'it does not join two frames of M-Bus'],
  [/^made any (glo without|authenticated, not)/, 'it holds the list of Kaifa in Norway'],
];
/** Telegrams that amshan 2.1.1 does not read: it deciphers nothing, and knows the lists of Norway and Sweden alone. */
const NOT_BY_AMSHAN = /^(DK|CH|AT|SI|made) /;

/** Keys of amshan, with the factor to ours. */
const NAMES: Readonly<Record<string, readonly [key: string, factor: number]>> = {
  active_power_import: ['powerImport', 1],
  active_power_export: ['powerExport', 1],
  reactive_power_import: ['reactivePowerImport', 1],
  reactive_power_export: ['reactivePowerExport', 1],
  active_power_import_total: ['energyImport', 0.001],
  active_power_export_total: ['energyExport', 0.001],
  reactive_power_import_total: ['reactiveEnergyImport', 0.001],
  reactive_power_export_total: ['reactiveEnergyExport', 0.001],
  ...Object.fromEntries(
    [1, 2, 3].flatMap((phase) => [
      [`current_l${phase}`, [`currentL${phase}`, 1]],
      [`voltage_l${phase}`, [`voltageL${phase}`, 1]],
      [`active_power_import_l${phase}`, [`powerImportL${phase}`, 1]],
      [`active_power_export_l${phase}`, [`powerExportL${phase}`, 1]],
    ]),
  ),
};
/** Reactive powers of a phase have no key here. */
const NO_KEY = /^reactive_power_(import|export)_l\d$/;

function messageOf(name: string): Uint8Array {
  const found: Uint8Array[] = [];
  const joiner = new MessageJoiner((message) => found.push(message));
  new FrameCutter((segment) => joiner.addSegment(segment)).cutBytes(telegrams.get(name) ?? Buffer.alloc(0));
  const [message] = found;
  if (message === undefined) throw new Error(`no message in ${name}`);
  return message;
}

function leavesOf({ type, items, bytes, number }: Datum): readonly Leaf[] {
  if (type === 'structure' || type === 'array') return items.flatMap(leavesOf);
  return [typeof number === 'number' ? number : Buffer.from(bytes).toString('hex')];
}

it('they have an answer to each telegram', () => {
  expect(Object.keys(answers).sort()).toEqual([...telegrams.keys()].sort());
});

it.each(Object.entries(answers))('gurux-dlms reads the same data in %s, or is known not to', (name, { gurux }) => {
  const isRead = Array.isArray(gurux);
  expect(isRead).toBe(!NOT_BY_GURUX.some(([names]) => names.test(name)));
  if (isRead) expect(leavesOf(dataOf(plainOf(messageOf(name), KEYS).plain))).toEqual(gurux);
});

it.each(Object.entries(answers))('amshan reads the same values in %s, or is known not to', (name, { amshan }) => {
  const isRead = amshan !== null && !('error' in amshan);
  expect(isRead).toBe(!NOT_BY_AMSHAN.test(name));
  if (!isRead) return;
  const wanted = Object.entries(amshan).flatMap(([theirs, value]) => {
    if (NO_KEY.test(theirs)) return [];
    const [key = theirs, factor = 1] = NAMES[theirs] ?? [theirs, 1];
    return [[key, expect.closeTo(Number(value) * factor, 6)] as const];
  });
  const read = readingsOf(messageOf(name), KEYS, lists).map((one) => [one.key, 'value' in one && one.value]);
  expect(Object.fromEntries(read)).toEqual(Object.fromEntries(wanted));
});

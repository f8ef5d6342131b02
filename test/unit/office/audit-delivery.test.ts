import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AuditDeps, type AuditRequest, auditDelivery } from '../../../src/office/reports/audit-delivery.ts';
import { LedgerCells } from '../../../src/outbox/delivery/delivery-ledger.ts';
import { EntryColumns } from '../../../src/outbox/format/entry-columns.ts';
import { wireValue } from '../../../src/platform/wire-values.ts';
import {
  plainForm,
  savedValue,
  spelledNumber,
  strictForm,
} from '../../../src/stand-ins/local-platform/stored-value.ts';
import { canonical, withDigests } from '../../../src/telemetry/entry-digest.ts';
import {
  type JsonObject,
  type JsonValue,
  parseJson,
  parseJsonNumbers,
  stringifyJson,
} from '../../../src/values/json.ts';

const HOUR = 3_600_000;
const START = Math.floor(1_780_000_000_000 / HOUR) * HOUR;
const signal = new AbortController().signal;

type Entry = readonly [key: string, ts: number, value: JsonValue];

/** Two hours of two keys, a value every ten minutes. */
const SENT: readonly Entry[] = Array.from({ length: 12 }, (_, index) => START + index * 600_000).flatMap(
  (ts, index): Entry[] => [
    ['temperature', ts, 20 + index / 10],
    ['door', ts, index % 2 === 0],
  ],
);

/** Returns the sent entries and the report of them: by default the same. */
function given(
  change: {
    found?: readonly Entry[];
    sent?: readonly Entry[];
    labels?: readonly string[];
    cell?: (value: JsonValue) => JsonValue;
    rows?: JsonObject[];
    isKept?: boolean;
  } = {},
) {
  const {
    sent = SENT,
    found = sent,
    labels = ['Date', 'door', 'temperature'],
    cell = (value: JsonValue) => value,
  } = change;
  const ledger = new LedgerCells();
  for (const [key, ts, value] of sent)
    ledger.add(EntryColumns.of([{ sequence: 1, device: 'self', key, value, ts, class: 'regular' }]), 0);
  const byTime = new Map<number, Record<string, JsonValue>>();
  for (const [key, ts, value] of found) byTime.set(ts, { ...byTime.get(ts), Date: String(ts), [key]: cell(value) });
  const resent: unknown[] = [];
  const asked: unknown[] = [];
  async function* kept() {
    for (const [key, ts, value] of sent) yield { device: 'self', key, ts, value };
  }
  const deps: AuditDeps = {
    readLedger: async () => (change.isKept === true ? withDigests(ledger.list(), kept(), new Map()) : ledger.list()),
    buildReport: async function* (request) {
      asked.push(request);
      yield { kind: 'labels', columnLabels: labels };
      yield { kind: 'rows', rows: [...byTime.values(), ...(change.rows ?? [])] };
    },
    resend: async (range) => {
      resent.push(range);
      return 6;
    },
  };
  const audit = (request: Partial<AuditRequest> = {}) =>
    auditDelivery(
      deps,
      { viewConfigId: 'view', fromMs: START + 1, toMs: START + 2 * HOUR - 1, resend: false, ...request },
      signal,
    );
  return { audit, resent, asked };
}

const faulty = (lines: Awaited<ReturnType<typeof auditDelivery>>['lines']) =>
  lines.filter(({ missing, different }) => missing > 0 || different.length > 0);

describe('the delivery audit', () => {
  it('reports no difference when all that was sent is there, in whole hours', async () => {
    const { audit, asked } = given();
    const { lines } = await audit();
    expect(lines.map(({ key, hourMs, sent, found }) => [key, (hourMs - START) / HOUR, sent, found])).toEqual([
      ['door', 0, 6, 6],
      ['door', 1, 6, 6],
      ['temperature', 0, 6, 6],
      ['temperature', 1, 6, 6],
    ]);
    expect(faulty(lines)).toEqual([]);
    expect(asked).toEqual([{ viewConfigId: 'view', rangeStartTs: START, rangeEndTs: START + 2 * HOUR }]);
  });

  it('takes numbers, times and booleans as text too', async () => {
    expect(faulty((await given({ cell: String }).audit()).lines)).toEqual([]);
  });

  it.each(SENT.map(([key, ts], index) => [key, (ts - START) / 600_000, index] as const))(
    'finds the one entry missing: %s #%i',
    async (key, slot, index) => {
      const { lines } = await given({ found: SENT.filter((_, at) => at !== index) }).audit();
      expect(faulty(lines)).toMatchObject([
        { key, hourMs: START + Math.floor(slot / 6) * HOUR, sent: 6, found: 5, missing: 1 },
      ]);
    },
  );

  it.each(
    SENT.map(([key, ts], index) => [key, (ts - START) / 600_000, index] as const).filter(
      ([key]) => key === 'temperature',
    ),
  )('finds the one number altered: %s #%i', async (key, slot, index) => {
    const found = SENT.map(
      (entry, at): Entry => (at === index ? [entry[0], entry[1], (entry[2] as number) + 0.01] : entry),
    );
    const { lines } = await given({ found }).audit();
    expect(faulty(lines)).toMatchObject([{ key, hourMs: START + Math.floor(slot / 6) * HOUR, missing: 0 }]);
    expect(faulty(lines)[0]?.different.join()).toMatch(/sum .*, sent|is .*, sent/);
  });

  it('finds a whole hour missing', async () => {
    const { lines } = await given({ found: SENT.filter(([, ts]) => ts < START + HOUR) }).audit();
    expect(faulty(lines).map(({ key, missing }) => [key, missing])).toEqual([
      ['door', 6],
      ['temperature', 6],
    ]);
  });

  it('finds an entry that was never sent, and one at another time', async () => {
    const extra = given({ found: [...SENT, ['temperature', START + 1, 20]] });
    expect(faulty((await extra.audit()).lines)[0]?.different[0]).toBe('1 more than were sent');
    const moved = given({
      found: SENT.map(([key, ts, value]): Entry => (ts === START ? [key, ts + 5, value] : [key, ts, value])),
    });
    expect(faulty((await moved.audit()).lines)[0]?.different[0]).toMatch(/first at/);
  });

  it('does not hold against the platform what came after the ledger was read', async () => {
    const later: Entry = ['temperature', START + 2 * HOUR - 1, 99];
    expect(faulty((await given({ found: [...SENT, later] }).audit()).lines)).toEqual([]);
  });

  it('does not mind the order in which numbers are added, nor large ones', async () => {
    const values = [0.1, 1e9, 0.2, -1e9, 0.3, 1e-3];
    const sent = values.map((value, index): Entry => ['k', START + index, value]);
    const { audit } = given({ sent, labels: ['Date', 'k'], found: [...sent].reverse() });
    expect(faulty((await audit()).lines)).toEqual([]);
  });

  it('looks at one device of several', async () => {
    const rows = [{ Date: String(START + 5), Device: 'other', temperature: 5, door: true }];
    const { audit } = given({ labels: ['Date', 'Device', 'door', 'temperature'], rows });
    expect(faulty((await audit({ deviceName: 'mine' })).lines)).toHaveLength(4);
    expect(faulty((await audit()).lines)).toHaveLength(2);
  });

  it('says which keys the view does not show, and finds columns with units or of another name', async () => {
    expect((await given({ labels: ['Date', 'temperature'] }).audit()).notShown).toEqual(['door']);
    const renamed = given({ labels: ['Date', 'Tür', 'temperature (°C)'] });
    expect((await renamed.audit({ labels: { door: 'Tür' } })).notShown).toEqual([]);
  });

  it('says so when the view does not suit', async () => {
    await expect(given({ labels: ['door', 'temperature'] }).audit()).rejects.toThrow(/--time-column/);
    await expect(given({ labels: ['Date', 'humidity'] }).audit()).rejects.toThrow(/--column/);
  });

  it('puts back the hours that have faults, and no others', async () => {
    const { audit, resent } = given({ found: SENT.filter(([key, ts]) => key !== 'door' || ts !== START) });
    expect((await audit({ resend: true })).resent).toEqual([{ key: 'door', hourMs: START, entries: 6 }]);
    expect(resent).toEqual([{ key: 'door', fromMs: START, toMs: START + HOUR }]);
  });

  describe('of entries that are still kept', () => {
    it('finds any one value altered, also where no sum shows it', async () => {
      for (const [index, [, , value]] of SENT.entries()) {
        const other = typeof value === 'boolean' ? !value : (value as number) + 1e-9;
        const found = SENT.map((entry, at): Entry => (at === index ? [entry[0], entry[1], other] : entry));
        expect(faulty((await given({ found, isKept: true }).audit()).lines)).toMatchObject([
          { key: SENT[index]?.[0], missing: 0 },
        ]);
      }
    });

    it('finds values that were exchanged, and one at another time', async () => {
      const exchanged = SENT.map(
        (entry, at): Entry => (at === 4 || at === 6 ? [entry[0], entry[1], SENT[10 - at]?.[2] ?? null] : entry),
      );
      expect(faulty((await given({ found: exchanged, isKept: true }).audit()).lines)).toMatchObject([
        { key: 'temperature', different: [expect.stringMatching(/not what the gateway keeps/)] },
      ]);
      const moved = SENT.map((entry, at): Entry => (at === 4 ? [entry[0], entry[1] + 1, entry[2]] : entry));
      expect(faulty((await given({ found: moved, isKept: true }).audit()).lines)).toHaveLength(1);
    });

    it('minds no form in which a cell may show the same value', async () => {
      const values: JsonValue[] = [21.5, true, 'text', '007', { b: [1, 2], a: 'x' }, 9007199254740993n, -0.25, 1e21];
      const sent = values.map((value, index): Entry => [`k${index}`, START + index, value]);
      const labels = ['Date', ...values.map((_, index) => `k${index}`)];
      const asText = (value: JsonValue): JsonValue =>
        typeof value === 'object' ? stringifyJson(value) : String(value);
      expect(faulty((await given({ sent, labels, isKept: true }).audit()).lines)).toEqual([]);
      expect(faulty((await given({ sent, labels, isKept: true, cell: asText }).audit()).lines)).toEqual([]);
    });

    it.each<[string, JsonValue]>([
      ...[
        1 / 3 / 10,
        0.04997916927067833,
        1.23456789e-7,
        1.234567890123e-9,
        1e-20,
        1e300,
        -0,
        2 ** 60,
        2 ** 53 + 2,
        2 ** 64,
      ].map((value): [string, JsonValue] => [`the double ${value}`, value]),
      ...[9_007_199_254_740_993n, 2n ** 64n].map((value): [string, JsonValue] => [`the long ${value}`, value]),
      ...[
        '.5',
        '-.5',
        '007',
        '1e5',
        '12345678901234567890',
        '0.12345678901234567',
        'a\0b',
        'x\ud800',
        '{"b":1,"a":"007"}',
        ' 5',
        'nul',
      ].map((value): [string, JsonValue] => [`the text ${JSON.stringify(value)}`, value]),
      ['a member without a value', { a: null, b: [1, null], c: 1 / 30 }],
      ['numbers within JSON', { a: 1e21, b: 1 / 30, c: 2 ** 60, d: '007' }],
    ])('finds what the platform makes of %s, and finds another value', async (_name, value) => {
      for (const form of [strictForm, plainForm]) {
        // Two of a kind in the hour: the first, the last and the sum are of what was sent.
        const sent = [0, 1].map((at): Entry => ['temperature', START + at, value]);
        const cell = (given: JsonValue): JsonValue => {
          const saved = savedValue(parseJsonNumbers(wireValue(given), spelledNumber), { castStrings: true });
          return parseJson(stringifyJson(form(saved ?? '')));
        };
        expect(faulty((await given({ sent, isKept: true, cell }).audit()).lines)).toEqual([]);
        expect(faulty((await given({ sent, cell }).audit()).lines)).toEqual([]);
        expect(faulty((await given({ sent, isKept: true, cell: () => 'another' }).audit()).lines)).toHaveLength(1);
      }
    });

    it('finds any double and any text that the platform has kept, as number or as text', () => {
      const kept = (given: JsonValue, form: typeof strictForm): JsonValue =>
        parseJson(
          stringifyJson(
            form(savedValue(parseJsonNumbers(wireValue(given), spelledNumber), { castStrings: true }) ?? ''),
          ),
        );
      const sent = fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.double({ min: -1, max: 1, noNaN: true }),
        fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
        fc.string({ unit: 'binary' }).filter((text) => text !== ''),
        fc.stringMatching(/^-?[0-9]{0,3}\.?[0-9]{1,20}$/),
      );
      fc.assert(
        fc.property(sent, fc.constantFrom(strictForm, plainForm), (value, form) => {
          expect(canonical(kept(value, form as typeof strictForm))).toBe(canonical(value));
        }),
        { numRuns: 3_000 },
      );
    });

    it('does not parse a text that would become many times larger', () => {
      const text = `[${'{},'.repeat(30_000)}{}]`;
      expect(canonical(text)).toBe(JSON.stringify(text));
      expect(canonical('[1, {"a": 2}]')).toBe('[1,{"a":2}]');
    });

    it('does without where something is not kept any more', async () => {
      const ledger = new LedgerCells();
      for (const [key, ts, value] of SENT)
        ledger.add(EntryColumns.of([{ sequence: 1, device: 'self', key, value, ts, class: 'regular' }]), 0);
      async function* some() {
        for (const [key, ts, value] of SENT.slice(1)) yield { device: 'self', key, ts, value };
      }
      const cells = await withDigests(ledger.list(), some(), new Map());
      expect(cells.filter(({ digest }) => digest === undefined).map(({ key, hourMs }) => [key, hourMs])).toEqual([
        ['temperature', START],
      ]);
    });
  });

  describe('over a view with a row per key', () => {
    const asRows = (found: readonly Entry[], device = 'mine') =>
      found.map(([key, ts, value]) => ({ Device: device, Key: key, Time: String(ts), Value: value }));
    const labels = ['Device', 'Key', 'Time', 'Value'];

    it('compares each key, and finds what is missing', async () => {
      expect(faulty((await given({ found: [], rows: asRows(SENT), labels }).audit()).lines)).toEqual([]);
      const lines = faulty((await given({ found: [], rows: asRows(SENT.slice(1)), labels }).audit()).lines);
      expect(lines).toMatchObject([{ key: 'temperature', hourMs: START, missing: 1 }]);
    });

    it('finds a text that is empty: each row is a value', async () => {
      const sent = SENT.map(([key, ts, value]): Entry => [key, ts, key === 'door' ? '' : value]);
      expect(faulty((await given({ sent, found: [], rows: asRows(sent), labels }).audit()).lines)).toEqual([]);
    });

    it('wants to know which device, when there are several', async () => {
      const rows = [...asRows(SENT), ...asRows(SENT, 'other')];
      await expect(given({ found: [], rows, labels }).audit()).rejects.toThrow(/"mine", "other".*--device/);
      expect(faulty((await given({ found: [], rows, labels }).audit({ deviceName: 'mine' })).lines)).toEqual([]);
    });
  });

  describe('over a view with a row per key and hour', () => {
    const labels = ['Device', 'Key', 'Hour', 'Count', 'Sum', 'First', 'Last'];
    const summed = (found: readonly Entry[]): JsonObject[] => {
      const ledger = new LedgerCells();
      for (const [key, ts, value] of found)
        ledger.add(EntryColumns.of([{ sequence: 1, device: 'mine', key, value, ts, class: 'regular' }]), 0);
      return ledger.list().map(({ key, hourMs, count, sum, first, last }) => ({
        Device: 'mine',
        Key: key,
        Hour: String(hourMs),
        Count: count,
        Sum: sum,
        First: first[1] ?? null,
        Last: last[1] ?? null,
      }));
    };
    const audit = (found: readonly Entry[]) => given({ found: [], rows: summed(found), labels }).audit();

    it('compares count, sum, first and last', async () => {
      expect(faulty((await audit(SENT)).lines)).toEqual([]);
      expect(faulty((await audit(SENT.slice(2))).lines)).toMatchObject([
        { key: 'door', missing: 1 },
        { key: 'temperature', missing: 1 },
      ]);
      const altered = SENT.map((entry, at): Entry => (at === 4 ? ['temperature', entry[1], 99] : entry));
      expect(faulty((await audit(altered)).lines)).toMatchObject([
        { key: 'temperature', missing: 0, different: [expect.stringMatching(/^sum/)] },
      ]);
    });

    it('finds a whole hour missing', async () => {
      expect(
        faulty((await audit(SENT.filter(([, ts]) => ts < START + HOUR))).lines).map(({ missing }) => missing),
      ).toEqual([6, 6]);
    });
  });
});

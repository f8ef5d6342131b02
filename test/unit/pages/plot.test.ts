/** Parts of the page's plot that need no browser: gaps, periods, ticks, spans and the table. */
import { describe, expect, it } from 'vitest';

interface Columns {
  readonly times: number[];
  readonly least: number[];
  readonly greatest: number[];
  readonly middle: number[];
  readonly isBand: boolean;
}
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}
interface Line {
  readonly key: string;
  readonly unit?: string;
  readonly columns: Columns;
  readonly limitMs?: number;
}

/** Scripts of the pages have no types of their own. */
const shared = async (name: string): Promise<unknown> =>
  await import(new URL(`../../../src/pages/shared/${name}.js`, import.meta.url).href);
const data = (await shared('plot-data')) as {
  columnsOf(answer: readonly (readonly number[])[]): Columns;
  appendValue(columns: Columns, ts: number, value: number): void;
  dropBefore(columns: Columns, fromMs: number): void;
  gapLimit(times: readonly number[], maxGapMs?: number, partMs?: number): number;
  alignLines(lines: readonly Line[]): {
    times: number[];
    rows: { middle: unknown[]; least?: unknown[]; greatest?: unknown[] }[];
  };
  nearestAt(times: readonly number[], ts: number, limitMs?: number): number | undefined;
  periodsBeyond(columns: Columns, threshold: object, limitMs: number): (Span & { isOpen: boolean })[];
  periodsOfSwitch(columns: Columns, limitMs: number): (Span & { value: number })[];
};
const ticks = (await shared('plot-ticks')) as {
  decimalsOf(step: number): number;
  valueTicks(marks: readonly number[], step: number, unit?: string): string[];
};
const table = (await shared('plot-export')) as {
  csvOf(lines: readonly Line[]): string;
  fileNameOf(lines: readonly Line[], span: Span, kind: string): string;
};
const spans = (await shared('plot-span')) as {
  boundedSpan(fromMs: number, toMs: number, nowMs: number): Span;
  zoomedSpan(span: Span, factor: number, atMs: number, nowMs: number): Span;
  pannedSpan(span: Span, share: number, nowMs: number): Span;
};

const { columnsOf } = data;
const HOUR = 3_600_000;

describe('gaps', () => {
  it('are longer than three usual distances, two minutes, what the key may be silent for, and two parts', () => {
    expect(data.gapLimit([0, 10_000, 20_000])).toBe(120_000);
    expect(data.gapLimit([0, 60_000, 120_000, 900_000])).toBe(180_000);
    expect(data.gapLimit([0, 1_000], HOUR)).toBe(HOUR);
    expect(data.gapLimit([0, 1_000], 5_000, 600_000)).toBe(1_200_000);
    expect(data.gapLimit([])).toBe(120_000);
  });

  it('end a line, and leave that of another key alone', () => {
    const { times, rows } = data.alignLines([
      {
        key: 'a',
        columns: columnsOf([
          [0, 10, 100],
          [1, 2, 3],
        ]),
        limitMs: 20,
      },
      {
        key: 'b',
        columns: columnsOf([
          [10, 60],
          [5, 6],
          [7, 8],
        ]),
        limitMs: 100,
      },
    ]);
    expect(times).toEqual([0, 10, 55, 60, 100]);
    expect(rows[0]).toEqual({ middle: [1, 2, null, undefined, 3] });
    expect(rows[1]).toEqual({
      middle: [undefined, 6, undefined, 7, undefined],
      least: [undefined, 5, undefined, 6, undefined],
      greatest: [undefined, 7, undefined, 8, undefined],
    });
  });
});

describe('values as they come', () => {
  it('are kept once where least and greatest are one list, and forgotten behind the left edge but for one', () => {
    const columns = columnsOf([
      [10, 20, 30],
      [1, 2, 3],
    ]);
    data.appendValue(columns, 40, 4);
    data.dropBefore(columns, 25);
    expect(columns).toEqual({
      times: [20, 30, 40],
      least: [2, 3, 4],
      greatest: [2, 3, 4],
      middle: [2, 3, 4],
      isBand: false,
    });
    const band = columnsOf([[10], [1], [3]]);
    data.appendValue(band, 20, 5);
    expect(band).toEqual({ times: [10, 20], least: [1, 5], greatest: [3, 5], middle: [2, 5], isBand: true });
  });

  it('are found by time, unless they are too far away', () => {
    const times = [0, 10, 30];
    expect([-5, 4, 6, 20, 29, 99].map((ts) => data.nearestAt(times, ts))).toEqual([0, 0, 1, 1, 2, 2]);
    expect([data.nearestAt(times, 99, 20), data.nearestAt([], 1)]).toEqual([undefined, undefined]);
  });
});

describe('periods', () => {
  it('begin above the limit and end below its hysteresis; a gap ends one, the last may go on', () => {
    const columns = columnsOf([
      [0, 1, 2, 3, 4, 50, 51],
      [4, 6, 4.8, 4.4, 6, 7, 7],
    ]);
    expect(data.periodsBeyond(columns, { above: 5, hysteresis: 0.5 }, 10)).toEqual([
      { fromMs: 1, toMs: 3, isOpen: false },
      { fromMs: 4, toMs: 4, isOpen: false },
      { fromMs: 50, toMs: 51, isOpen: true },
    ]);
    expect(data.periodsBeyond(columns, { below: 4.5 }, 10)).toEqual([
      { fromMs: 0, toMs: 1, isOpen: false },
      { fromMs: 3, toMs: 4, isOpen: false },
    ]);
  });

  it('are told by the greatest value of a part for what is above, by the least for what is below', () => {
    const columns = columnsOf([
      [0, 10, 20],
      [1, 1, 1],
      [2, 9, 2],
    ]);
    expect(data.periodsBeyond(columns, { above: 5 }, 100)).toEqual([{ fromMs: 10, toMs: 20, isOpen: false }]);
    expect(data.periodsBeyond(columns, { below: 2 }, 100)).toEqual([{ fromMs: 0, toMs: 20, isOpen: true }]);
  });

  it('of a switch last until the next value, and not over a gap', () => {
    expect(
      data.periodsOfSwitch(
        columnsOf([
          [0, 10, 20, 90],
          [0, 1, 1, 0],
        ]),
        30,
      ),
    ).toEqual([
      { fromMs: 0, toMs: 10, value: 0 },
      { fromMs: 10, toMs: 20, value: 1 },
      { fromMs: 90, toMs: 90, value: 0 },
    ]);
  });
});

describe('ticks', () => {
  it.each([
    [5, 0],
    [1, 0],
    [0.5, 1],
    [0.25, 2],
    [2.5, 1],
    [0.002, 3],
    [100, 0],
    [0, 0],
  ])('a step of %d needs %d decimals', (step, decimals) => {
    expect(ticks.decimalsOf(step)).toBe(decimals);
  });

  it('have as many digits as tell them apart, a size for bytes, and no zero with a sign', () => {
    expect(ticks.valueTicks([20, 20.5, 21], 0.5, '°C')).toEqual(['20.0', '20.5', '21.0']);
    expect(ticks.valueTicks([-1e-17, 1_000_000], 1_000_000)).toEqual(['0', '1,000,000']);
    expect(ticks.valueTicks([0, 1.25e9, 2.5e9], 1.25e9, 'By')).toEqual(['0.00 GB', '1.25 GB', '2.50 GB']);
    expect(ticks.valueTicks([2e9, 2.5e9], 5e8)).toEqual(['2.0E9', '2.5E9']);
  });
});

describe('the span', () => {
  const now = 100 * HOUR;

  it('lies before now, between a minute and seven days', () => {
    expect(spans.boundedSpan(99 * HOUR, 101 * HOUR, now)).toEqual({ fromMs: 98 * HOUR, toMs: now });
    expect(spans.boundedSpan(50 * HOUR, 50 * HOUR + 2_000, now)).toEqual({
      fromMs: 50 * HOUR - 29_000,
      toMs: 50 * HOUR + 31_000,
    });
    const later = 10_000 * HOUR;
    expect(spans.boundedSpan(0, later, later).toMs - spans.boundedSpan(0, later, later).fromMs).toBe(168 * HOUR);
  });

  it('keeps what is pointed at where it is, and moves by a share of itself', () => {
    expect(spans.zoomedSpan({ fromMs: 10 * HOUR, toMs: 20 * HOUR }, 0.5, 12 * HOUR, now)).toEqual({
      fromMs: 11 * HOUR,
      toMs: 16 * HOUR,
    });
    expect(spans.pannedSpan({ fromMs: 10 * HOUR, toMs: 20 * HOUR }, -0.5, now)).toEqual({
      fromMs: 5 * HOUR,
      toMs: 15 * HOUR,
    });
    expect(spans.pannedSpan({ fromMs: 92 * HOUR, toMs: 98 * HOUR }, 0.5, now)).toEqual({
      fromMs: 94 * HOUR,
      toMs: now,
    });
  });
});

describe('the table', () => {
  it('has UTC times, a column for each key with its unit, and two for a band', () => {
    const text = table.csvOf([
      {
        key: 'a',
        unit: '°C',
        columns: columnsOf([
          [0, 1_000],
          [-1.5, 2],
        ]),
      },
      { key: 'b', columns: columnsOf([[1_000], [3], [4]]) },
    ]);
    expect(text).toBe(
      'time,a (°C),b least,b greatest\r\n1970-01-01T00:00:00.000Z,-1.5,,\r\n1970-01-01T00:00:01.000Z,2,3,4\r\n',
    );
  });

  it.each([
    ['=1+1', "'=1+1"],
    ['@x', "'@x"],
    ['-x', "'-x"],
    ['+x', "'+x"],
    ['a"b', '"a""b"'],
    ['=a,b', '"\'=a,b"'],
  ])('makes the name %s harmless and quotes it where it must be', (key, head) => {
    expect(table.csvOf([{ key, columns: columnsOf([[], []]) }])).toBe(`time,${head}\r\n`);
  });

  it('is named by keys and start, with nothing that leads elsewhere', () => {
    const line = (key: string): Line => ({ key, columns: columnsOf([[], []]) });
    expect(table.fileNameOf([line('../../etc/x'), line('b')], { fromMs: 0, toMs: 1 }, 'csv')).toBe(
      'etc-x-b-1970-01-01T00-00-00Z.csv',
    );
    expect(table.fileNameOf([line('///')], { fromMs: 0, toMs: 1 }, 'png')).toBe('plot-1970-01-01T00-00-00Z.png');
  });
});

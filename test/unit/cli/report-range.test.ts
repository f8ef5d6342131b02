import { describe, expect, it } from 'vitest';
import { parseFilters, parseInstant, parseRange } from '../../../src/cli/report-range.ts';

const NOW = Date.parse('2026-05-31T12:00:00Z');

describe('a report range', () => {
  it.each([
    ['2026-05-31T11:00:00Z', NOW - 3_600_000],
    ['2026-05-31T13:00:00+02:00', NOW - 3_600_000],
    ['2026-05-31', Date.parse('2026-05-31T00:00:00Z')],
    [String(NOW), NOW],
    ['24h', NOW - 86_400_000],
    ['1h30m', NOW - 5_400_000],
    ['now', NOW],
  ])('takes %s', (text, expected) => {
    expect(parseInstant(text, NOW)).toBe(expected);
  });

  it.each(['yesterday', '31.05.2026', '2026-13-01', '2026-05-31T99:00Z', ''])(
    'refuses %j and says what can be written',
    (text) => {
      expect(() => parseInstant(text, NOW)).toThrow(/2026-05-31T12:00:00Z/);
    },
  );

  it('suspects seconds', () => {
    expect(() => parseInstant('1780000000', NOW)).toThrow(/seconds/);
  });

  it('ends now with --last, and leaves to the view what is not given', () => {
    expect(parseRange({ last: '24h' }, NOW)).toEqual({ rangeStartTs: NOW - 86_400_000, rangeEndTs: NOW });
    expect(parseRange({ from: '24h' }, NOW)).toEqual({ rangeStartTs: NOW - 86_400_000 });
    expect(parseRange({}, NOW)).toEqual({});
  });

  it('refuses ranges that make no sense', () => {
    expect(() => parseRange({ from: 'now', to: '24h' }, NOW)).toThrow(/before it begins/);
    expect(() => parseRange({ last: '24h', from: '2h' }, NOW)).toThrow(/stands alone/);
    expect(() => parseRange({ last: '24' }, NOW)).toThrow(/no duration/);
  });

  it('takes filters, each with its values', () => {
    expect(parseFilters(['Device=a,b', 'Device=c', 'Room='])).toEqual({ Device: ['a', 'b', 'c'], Room: [''] });
    expect(() => parseFilters(['=a'])).toThrow(/name=value/);
  });
});

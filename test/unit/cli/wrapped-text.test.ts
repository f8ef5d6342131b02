import { describe, expect, it } from 'vitest';
import { cutText, firstLines, hangingLines, textWidth, wrapRows, wrapWords } from '../../../src/cli/wrapped-text.ts';

const RED = '\u001b[31m';
const PLAIN = '\u001b[39m';

describe('wrapped text', () => {
  it('breaks between words, and keeps a word whole that is too wide', () => {
    expect(wrapWords('the pump does not answer', 10)).toEqual(['the pump', 'does not', 'answer']);
    expect(wrapWords('see http://gateway-1.example/page', 10)).toEqual(['see', 'http://gateway-1.example/page']);
  });

  it('gives colours no room, ends them with the line and begins them again', () => {
    expect(wrapWords(`a ${RED}red pump${PLAIN} b`, 6)).toEqual([`a ${RED}red\u001b[0m`, `${RED}pump${PLAIN} b`]);
  });

  it('hangs every line but the first', () => {
    expect(hangingLines('one two three', 9, ' ')).toEqual([' one', '   two', '   three']);
  });

  it('marks lines that are missing', () => {
    expect(firstLines(['one', 'two', 'three'], 2, 20)).toEqual(['one', 'two …']);
    expect(firstLines(['one', 'two'], 2, 20)).toEqual(['one', 'two']);
  });

  it('cuts a line and keeps its colours whole', () => {
    expect(cutText(`${RED}a long line${PLAIN}`, 7)).toBe(`${RED}a long${PLAIN}…`);
    expect(cutText('short', 7)).toBe('short');
  });
});

describe('wrapped rows', () => {
  it('line columns up, and let the widest give way', () => {
    const rows = [
      ['roof', 'nobody answers at the address of this chip', '3s'],
      ['hall', 'ok', '12s'],
    ];
    const lines = wrapRows(rows, 34).flat();
    expect(lines).toEqual([
      'roof  nobody answers at the    3s',
      '      address of this chip',
      'hall  ok                       12s',
    ]);
    expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(34);
  });

  it('hang what ends a row under itself', () => {
    expect(wrapRows([['link', 'all is sent and nothing waits here']], 30).flat()).toEqual([
      'link  all is sent and nothing',
      '      waits here',
    ]);
  });
});

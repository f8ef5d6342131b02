import { describe, expect, it } from 'vitest';
import { LogRing } from '../../../src/page-server/log-ring.ts';

function ring(): { readonly lines: LogRing; readonly write: (line: string) => void; readonly secrets: string[] } {
  const secrets: string[] = [];
  let write = (_line: string): void => {};
  const lines = new LogRing({
    onLine: (listener) => {
      write = listener;
      return () => {};
    },
    redact: (text) => secrets.reduce((left, secret) => left.replaceAll(secret, '[secret]'), text),
  });
  return { lines, write: (line) => write(line), secrets };
}

describe('LogRing', () => {
  it('keeps no line whole that is long', () => {
    const { lines, write } = ring();
    write(`${'x'.repeat(100_000)}\n`);
    expect(lines.between(0, 1)).toEqual(['x'.repeat(500)]);
  });

  it('keeps the newest lines, under the numbers that they had', () => {
    const { lines, write } = ring();
    for (let line = 0; line < 1_000; line += 1) write(`${line}\n`);
    expect(lines.next).toBe(1_000);
    expect(lines.between(998, 1_000)).toEqual(['998', '999']);
    expect(lines.between(0, 1_000).length).toBeLessThanOrEqual(200);
  });

  it('shows no secret that became known only after the line was written', () => {
    const { lines, write, secrets } = ring();
    write('the token is tok-12345\n');
    secrets.push('tok-12345');
    expect(lines.between(0, 1)).toEqual(['the token is [secret]']);
  });

  it('shows nothing of such a secret where the line is cut', () => {
    const { lines, write, secrets } = ring();
    write(`${'x'.repeat(495)}tok-12345 and more\n`);
    secrets.push('tok-12345');
    expect(lines.between(0, 1)).toEqual([`${'x'.repeat(495)}[secr`]);
  });
});

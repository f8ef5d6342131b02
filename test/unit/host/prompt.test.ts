import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { promptLine, promptSecret } from '../../../src/host/prompt.ts';

function terminalWith() {
  const input = Object.assign(new PassThrough(), {
    isTTY: true as const,
    raw: [] as boolean[],
    setRawMode: (_on: boolean) => input as never,
  });
  input.setRawMode = (on) => {
    input.raw.push(on);
    return input as never;
  };
  const shown: string[] = [];
  return { input, shown, streams: { input, output: { write: (text: string) => shown.push(text) } } };
}

const signal = new AbortController().signal;

describe('a prompt', () => {
  it('takes a secret without echo and leaves the terminal as it was', async () => {
    const { input, shown, streams } = terminalWith();
    const answer = promptSecret('Password: ', streams, signal);
    for (const key of ['s', 'e', 'x', '\x7f', 'c', '\x1b[A', 'ret', '\r']) input.write(key);
    expect(await answer).toBe('secret');
    expect(shown).toEqual(['Password: ', '\n']);
    expect(input.raw).toEqual([true, false]);
  });

  it('ends on Ctrl-C, with the terminal as it was', async () => {
    const { input, streams } = terminalWith();
    const answer = promptSecret('Password: ', streams, signal);
    input.write('abc\x03');
    await expect(answer).rejects.toMatchObject({ code: 'host/prompt-ended' });
    expect(input.raw).toEqual([true, false]);
  });

  it('takes the first line of a pipe, with or without its end', async () => {
    for (const [text, expected] of [
      ['one\ntwo\n', 'one'],
      ['one\r\n', 'one'],
      ['one', 'one'],
    ] as const) {
      const input = new PassThrough();
      input.end(text);
      expect(await promptSecret('?', { input, output: { write: () => {} } }, signal)).toBe(expected);
    }
  });

  it('says so when there is no input, or no time', async () => {
    const input = new PassThrough();
    input.end();
    await expect(promptSecret('?', { input, output: { write: () => {} } }, signal)).rejects.toThrow(/no input/);
    const patience = new AbortController();
    const answer = promptSecret('?', { input: new PassThrough(), output: { write: () => {} } }, patience.signal);
    patience.abort();
    await expect(answer).rejects.toThrow(/too long/);
  });

  it('offers a default for what may be seen', async () => {
    const { input, shown, streams } = terminalWith();
    const answer = promptLine('Address? ', 'http://localhost', streams, signal);
    input.write('\n');
    expect(await answer).toBe('http://localhost');
    expect(shown).toEqual(['Address? [http://localhost] ']);
  });
});

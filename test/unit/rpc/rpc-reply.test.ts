import { describe, expect, it } from 'vitest';
import { AgentError } from '../../../src/errors/agent-error.ts';
import {
  errorReply,
  isOutcomeUnknown,
  MAX_REPLY_BYTES,
  outcomeUnknownReply,
  replyOfError,
  resultReply,
} from '../../../src/rpc/rpc-reply.ts';
import type { JsonObject } from '../../../src/values/json.ts';

const bytesOf = (reply: JsonObject): number => Buffer.byteLength(JSON.stringify(reply));
const ofBytes = (bytes: number): string => 'x'.repeat(bytes - '{"result":""}'.length);

describe('a reply', () => {
  it('goes out as it is up to the most that the platform takes', () => {
    const whole = resultReply(ofBytes(65_536));
    expect([MAX_REPLY_BYTES, bytesOf(whole), whole]).toEqual([65_536, 65_536, { result: ofBytes(65_536) }]);
  });

  it.each([
    ['one byte more', ofBytes(65_537), 65_537, 60_000],
    ['quotes, which double', '"'.repeat(70_000), 140_013, 50_000],
    ['characters of four bytes', '\u{1f600}'.repeat(30_000), 120_013, 40_000],
  ])('is cut and says so: %s', (_, text, bytes, atLeast) => {
    const { result } = resultReply(text) as { result: { cut: boolean; notice: string; start: string } };
    expect(result).toEqual({
      cut: true,
      notice: `a reply of ${bytes} bytes was cut; the platform takes 65536`,
      start: expect.any(String),
    });
    expect(JSON.stringify(text).startsWith(result.start)).toBe(true);
    expect(bytesOf({ result })).toBeLessThanOrEqual(65_536);
    expect(bytesOf({ result })).toBeGreaterThan(atLeast);
  });

  it('names a fault by its own code, and one of the program by nothing of it', () => {
    const fault = new AgentError('rpc/too-often', 'x'.repeat(501), { recovery: 'drop' });
    expect(errorReply(fault)).toEqual({ error: { code: 'too-often', message: 'x'.repeat(500) } });
    expect(errorReply(new Error('a secret'))).toEqual({
      error: { code: 'internal', message: 'the method failed; the log of the device says how' },
    });
  });

  it('is known as of an unknown outcome by its code alone', () => {
    expect(isOutcomeUnknown(outcomeUnknownReply('why'))).toBe(true);
    for (const reply of [
      undefined,
      {},
      { error: 'outcome-unknown' },
      { result: { code: 'outcome-unknown' } },
      replyOfError('locked-out', 'outcome-unknown'),
    ])
      expect(isOutcomeUnknown(reply)).toBe(false);
  });
});

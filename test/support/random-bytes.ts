/** Inputs for parsers: pseudo-random bytes that are the same in every run, so that a failure can be repeated. */
import { AgentError } from '../../src/errors/agent-error.ts';

/**
 * Calls the parser with this many inputs; an AgentError of the parser is its answer to bad input, anything else fails the test with the
 * input that did it.
 */
export function forRandomBytes(
  count: number,
  length: number,
  parse: (bytes: Buffer, random: () => number) => void,
): void {
  const random = mulberry32(20_260_101);
  for (let at = 0; at < count; at += 1) {
    const bytes = Buffer.from(Uint8Array.from({ length }, () => Math.floor(random() * 256)));
    try {
      parse(bytes, random);
    } catch (error) {
      if (!(error instanceof AgentError)) throw new Error(`input ${at}, ${bytes.toString('hex')}`, { cause: error });
    }
  }
}

/** A small generator of even numbers in [0, 1). */
export function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

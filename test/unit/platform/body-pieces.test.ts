/** A body's pieces come as they are taken: who writes them to a slow card must not have the rest of an image in memory. */
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { piecesOf } from '../../../src/platform/body-pieces.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const PIECES = 1_000;
const PIECE = Buffer.alloc(1_024);

function counted(): { readonly body: Readable; readonly given: () => number } {
  let given = 0;
  const body = new Readable({
    highWaterMark: 4 * PIECE.length,
    read() {
      given += 1;
      const piece = given <= PIECES ? PIECE : null;
      // As a socket does: later.
      setImmediate(() => this.push(piece));
    },
  });
  return { body, given: () => given };
}

const turns = async (many: number): Promise<void> => {
  for (let turn = 0; turn < many; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

it('are no more than a few ahead of who takes them, and all of them come', async () => {
  const { body, given } = counted();
  let taken = 0;
  for await (const piece of piecesOf(body, { clock: new FakeClock(), maxMs: 60_000 })) {
    expect(piece).toHaveLength(PIECE.length);
    taken += 1;
    if (taken <= 3) await turns(50);
    expect(given() - taken).toBeLessThan(10);
  }
  expect(taken).toBe(PIECES);
});

it('end the body when their taker does', async () => {
  const { body } = counted();
  for await (const _piece of piecesOf(body, { clock: new FakeClock(), maxMs: 60_000 })) break;
  expect(body.destroyed).toBe(true);
});

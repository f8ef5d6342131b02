import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { isWhole } from '../../config/fields/check-sum.ts';
import { SilenceCutter } from './silence-cutter.ts';

const GAP_MS = 20;
/** Payload 01 02 03 and its sum; another frame. */
const [FRAME, OTHER] = ['01020306', '0a0b15'];

/** A cutter on a line that has been silent, and the frames that it gives. */
async function listening({ hasCheck = true, maxBytes = 16 } = {}) {
  const clock = new FakeClock();
  const frames: string[] = [];
  let tooLong = 0;
  const cutter = new SilenceCutter({
    clock,
    gapMs: GAP_MS,
    deadlineMs: 500,
    maxBytes,
    onFrame: (frame) => {
      const isGood = !hasCheck || isWhole(frame, { kind: 'sum8' });
      if (isGood) frames.push(frame.toString('hex'));
      return isGood;
    },
    onTooLong: () => {
      tooLong += 1;
    },
  });
  const say = (hex: string): void => cutter.splitBytes(Buffer.from(hex, 'hex'));
  const silence = (): Promise<void> => clock.advance(2 * GAP_MS);
  return { clock, cutter, frames, say, silence, tooLong: () => tooLong };
}

it('ends a frame where the line is silent, whatever pieces it came in', async () => {
  const { clock, frames, say, silence } = await listening({ hasCheck: false });
  await silence();
  say('0102');
  await clock.advance(GAP_MS - 1);
  say('0306');
  await silence();
  say(OTHER);
  await silence();
  expect(frames).toEqual([FRAME, OTHER]);
});

it('passes over a frame whose beginning came before the first silence', async () => {
  const { frames, say, silence } = await listening({ hasCheck: false });
  say('0306');
  await silence();
  say(FRAME);
  await silence();
  expect(frames).toEqual([FRAME]);
});

it('does not take the pause of a host that is held up for silence', async () => {
  const { clock, frames, say, silence } = await listening({ hasCheck: false });
  await silence();
  say('0102');
  // The timer of the silence is due before the bytes that came meanwhile are read.
  await clock.advance(GAP_MS);
  say('0306');
  await silence();
  expect(frames).toEqual([FRAME]);
});

it('joins a frame that was cut with what follows within the deadline, and loses none behind a damaged one', async () => {
  const { clock, frames, say, silence } = await listening();
  await silence();
  say('0102');
  await silence();
  say('0306');
  await silence();
  expect(frames).toEqual([FRAME]);
  say('ffff00');
  await silence();
  say(OTHER);
  await silence();
  expect(frames).toEqual([FRAME, OTHER]);
  say('0102');
  await clock.advance(600);
  say('0306');
  await silence();
  expect(frames).toEqual([FRAME, OTHER]);
});

it('is bounded, and begins again after a silence', async () => {
  const { frames, say, silence, tooLong } = await listening({ maxBytes: 4 });
  await silence();
  say('0102030405');
  say('06');
  await silence();
  for (let piece = 0; piece < 5; piece += 1) {
    say('ff00');
    await silence();
  }
  say(FRAME);
  await silence();
  expect({ frames, tooLong: tooLong() }).toEqual({ frames: [FRAME], tooLong: 1 });
});

it('drops what is left of an earlier answer when the device is asked', async () => {
  const { cutter, frames, say, silence } = await listening({ hasCheck: false });
  say('ff');
  cutter.expectLine();
  say(FRAME);
  await silence();
  expect(frames).toEqual([FRAME]);
});

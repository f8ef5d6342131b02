/** Answers that may be those of earlier commands. */
import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { OwedAnswers } from './owed-answers.ts';

let clock: FakeClock;
let owed: OwedAnswers;

beforeEach(() => {
  clock = new FakeClock();
  owed = new OwedAnswers(clock);
});

const mute = async (command: unknown): Promise<unknown> =>
  await owed
    .heard({ command, endsAll: false }, async () => {
      throw new Error('no answer');
    })
    .catch((error: Error) => error.message);
const isProof = async (command: unknown, endsAll = false): Promise<boolean> =>
  (await owed.heard({ command, endsAll }, async () => 'OK')).isProof;

it('one that never came makes others doubtful for a minute, however many commands come meanwhile', async () => {
  await mute('lamp1 on');
  const proofs = [];
  for (let at = 0; at < 8; at += 1) {
    proofs.push(await isProof(`lamp${at + 2} on`));
    await clock.advance(10_000);
  }
  expect(proofs).toEqual([false, false, false, false, false, false, true, true]);
});

it('two that never came do so until the later one comes no more', async () => {
  await mute('lamp1 on');
  await clock.advance(30_000);
  await mute('lamp2 on');
  await clock.advance(20_000);
  expect(await isProof('lamp3 on')).toBe(false);
  await clock.advance(20_000);
  expect(await isProof('lamp4 on')).toBe(false);
  await clock.advance(20_000);
  expect(await isProof('lamp5 on')).toBe(true);
});

it('of the same command proves it, unless each telling counts', async () => {
  await mute('lamp1 on');
  expect(await isProof('lamp1 on')).toBe(true);
  await clock.advance(60_000);
  await mute(Symbol('tare'));
  expect(await isProof(Symbol('tare'))).toBe(false);
});

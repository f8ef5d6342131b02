/** How long nothing is sent after an answer that took nothing, and in which words that is told. */
import { expect, it } from 'vitest';
import { systemClock } from '../../../../src/host/clock.ts';
import { english } from '../../../../src/names/sentences.ts';
import { type FailingAnswer, reasonFor, UploadWaits } from '../../../../src/telemetry/answers/upload-waits.ts';

const BUSY: FailingAnswer = { kind: 'busy', status: 503, text: '' };
const REFUSED: FailingAnswer = { kind: 'refused', status: 400, text: 'no' };
const TOO_LARGE: FailingAnswer = { kind: 'too-large', status: 413 };
const UNAUTHORISED: FailingAnswer = { kind: 'unauthorised', status: 401, text: '' };

/** The waits after the same answer again and again, each as long as it may be. */
function waits(answer: FailingAnswer, times: number, isAlone = false): number[] {
  const all = new UploadWaits({ jitter: () => 0.999_999 });
  return Array.from({ length: times }, () => Math.round(all.after(answer, { isAlone }) / 1_000));
}

it('waits up to a minute for one who is busy, and minutes where only a person can help', () => {
  expect(waits(BUSY, 9)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  expect(waits(UNAUTHORISED, 6)).toEqual([30, 60, 120, 240, 300, 300]);
  expect(waits({ kind: 'portal', status: 302 }, 2)).toEqual([30, 60]);
});

it('goes on in steps of two seconds while it looks for what is refused, and slower while one after the other is', () => {
  expect(waits(REFUSED, 5)).toEqual([2, 2, 2, 2, 2]);
  expect(waits(TOO_LARGE, 3)).toEqual([2, 2, 2]);
  expect(waits(REFUSED, 6, true)).toEqual([2, 4, 8, 16, 20, 20]);
  expect(waits(TOO_LARGE, 2, true)).toEqual([2, 4]);
});

it('asks nobody more often than every two seconds for a single entry, whatever chance says', () => {
  const all = new UploadWaits({ jitter: () => 0 });
  expect(all.after(REFUSED, { isAlone: true })).toBe(2_000);
});

it('counts single entries that were refused, until something is taken, and begins anew then', () => {
  const all = new UploadWaits({ jitter: () => 0.999_999 });
  for (const [answer, isAlone] of [
    [REFUSED, true],
    [REFUSED, false],
    [TOO_LARGE, true],
    [BUSY, true],
    [UNAUTHORISED, true],
  ] as const)
    all.after(answer, { isAlone });
  expect(all.refusals).toBe(2);
  all.reset();
  expect(all.refusals).toBe(0);
  expect(
    [BUSY, UNAUTHORISED, REFUSED].map((answer) => Math.round(all.after(answer, { isAlone: true }) / 1_000)),
  ).toEqual([1, 30, 2]);
});

it('does not wait as others do', () => {
  const firsts = new Set(
    Array.from({ length: 20 }, () => new UploadWaits(systemClock).after(BUSY, { isAlone: false })),
  );
  expect(firsts.size).toBeGreaterThan(1);
});

it('says what is the matter', () => {
  expect(english(reasonFor({ kind: 'busy', text: 'connect ECONNREFUSED' }))).toBe(
    'the platform is not reached: connect ECONNREFUSED',
  );
  expect(english(reasonFor(BUSY))).toBe('the platform is busy (status 503)');
  expect(english(reasonFor({ kind: 'unauthorised', status: 0, text: 'its claim is not known yet' }))).toBe(
    'its claim is not known yet',
  );
  expect(english(reasonFor({ kind: 'unauthorised', status: 401, text: 'Unauthorized' }))).toBe(
    'the platform does not know this device (status 401): check the access token',
  );
  expect(english(reasonFor(TOO_LARGE))).toBe('the platform refuses (status 413)');
  expect(english(reasonFor({ kind: 'portal', status: 302 }))).toMatch(/status 302.*login page or a proxy/);
});

/** A platform that takes so many values a second gets nearly as many: the size of posts and their pace find its limit. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Lane } from '../../../../src/outbox/outbox.ts';
import type { TelemetryRows, UploadAnswer } from '../../../../src/platform/device-api.ts';
import { UploadPace } from '../../../../src/telemetry/answers/upload-pace.ts';
import { UploadBench } from '../../../support/upload-bench.ts';

const ACCEPTED: UploadAnswer = { kind: 'accepted' };
const LIMIT = 100;

let gateway: UploadBench;

/** Refills steadily, up to so many values. */
function bucket(
  capacity: number,
  perS: number,
  refusal: UploadAnswer,
): (rows: TelemetryRows, atMs: number) => UploadAnswer {
  let tokens = capacity;
  let filledMs = 0;
  return (rows, atMs) => {
    tokens = Math.min(capacity, tokens + ((atMs - filledMs) * perS) / 1_000);
    filledMs = atMs;
    if (rows.keys.length > tokens) return refusal;
    tokens -= rows.keys.length;
    return ACCEPTED;
  };
}

/** So many values in each second of its clock. */
function windows(perS: number, refusal: UploadAnswer): (rows: TelemetryRows, atMs: number) => UploadAnswer {
  let second = -1;
  let left = 0;
  return (rows, atMs) => {
    if (Math.floor(atMs / 1_000) !== second) [second, left] = [Math.floor(atMs / 1_000), perS];
    if (rows.keys.length > left) return refusal;
    left -= rows.keys.length;
    return ACCEPTED;
  };
}

/** Many entries of few keys. */
async function fill(blocks: number): Promise<void> {
  for (let block = 0; block < blocks; block += 1)
    await gateway.commit(Array.from({ length: 2_000 }, (_none, at) => `k${at % 50}`));
}

/** Pieces of a lane that always has more, each sent as soon as it may go: how many in so many minutes. */
function piecesIn(pace: UploadPace, fromMs: number, minutes: number): number {
  const untilMs = fromMs + minutes * 60_000;
  let sent = 0;
  for (let nowMs = fromMs; nowMs < untilMs; nowMs += 100 + afterPiece(pace, 'backlog', nowMs)) sent += 1;
  return sent;
}

const afterPiece = (pace: UploadPace, lane: Lane, nowMs: number): number => pace.after(lane, { isPiece: true, nowMs });

async function acceptedIn(seconds: number): Promise<number> {
  const before = gateway.taken.length;
  for (let second = 0; second < seconds; second += 1) await gateway.fixture.clock.advance(1_000);
  return gateway.taken.length - before;
}

describe('a limit of values a second', () => {
  afterEach(() => gateway.close());

  it.each<[string, (refusal: UploadAnswer) => (rows: TelemetryRows, atMs: number) => UploadAnswer]>([
    ['that refills steadily', (refusal) => bucket(LIMIT, LIMIT, refusal)],
    ['that refills steadily, with room for three seconds', (refusal) => bucket(3 * LIMIT, LIMIT, refusal)],
    ['in each second of a clock', (refusal) => windows(LIMIT, refusal)],
  ])('%s gets four fifths of it, whatever it answers beyond, and few posts beyond', async (_name, limit) => {
    for (const refusal of [
      { kind: 'busy', status: 429, text: 'Too many requests' },
      { kind: 'busy', status: 503, text: '' },
      { kind: 'busy', status: 500, text: '' },
    ] as const) {
      gateway = await UploadBench.open();
      gateway.answer = () => ({ kind: 'busy', text: 'no route' });
      await fill(28);
      gateway.answer = limit(refusal);
      await acceptedIn(120);
      const posts = gateway.posts.length;
      const accepted = await acceptedIn(300);
      const failed = gateway.posts.slice(posts).filter(({ answer }) => answer.kind !== 'accepted').length;
      expect(accepted / 300).toBeGreaterThanOrEqual(0.8 * LIMIT);
      expect(failed).toBeLessThan(120);
      if (refusal.status !== 500) await gateway.close();
    }
  });
});

describe('small posts behind no known limit', () => {
  it('follow each other slowly for most of an hour, and then as fast as they pass until the lane is through', () => {
    const pace = new UploadPace();
    const first = piecesIn(pace, 0, 45);
    expect([first > 1_500, first < 45 * 41]).toEqual([true, true]);
    expect(piecesIn(pace, 45 * 60_000, 30)).toBeGreaterThan(10_000);
    pace.after('live', { isPiece: false, nowMs: 75 * 60_000 });
    expect(piecesIn(pace, 75 * 60_000, 1)).toBeGreaterThan(500);
    pace.after('backlog', { isPiece: false, nowMs: 80 * 60_000 });
    expect(piecesIn(pace, 80 * 60_000, 1)).toBeLessThan(60);
  });

  it('go at once eleven times, then 1.5 s apart, and at once after two thousand', () => {
    const pace = new UploadPace();
    const waits = Array.from({ length: 2_001 }, () => afterPiece(pace, 'live', 0));
    expect(waits).toEqual([...Array(11).fill(0), ...Array.from({ length: 1_989 }, (_none, at) => 1_500 * (at + 1)), 0]);
  });

  it('never let an alarm wait', () => {
    const pace = new UploadPace();
    for (let piece = 0; piece < 100; piece += 1) expect(afterPiece(pace, 'alarm', 0)).toBe(0);
  });
});

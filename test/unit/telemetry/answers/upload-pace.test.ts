/** A platform that takes so many values a second gets nearly as many: the size of posts and their pace find its limit. */
import { afterEach, describe, expect, it } from 'vitest';
import type { TelemetryRows, UploadAnswer } from '../../../../src/platform/device-api.ts';
import { UploadPace } from '../../../../src/telemetry/answers/upload-pace.ts';
import { UploadBench } from '../../../support/upload-bench.ts';

const ACCEPTED: UploadAnswer = { kind: 'accepted' };
const LIMIT = 100;

let gateway: UploadBench;

/** Refills steadily, up to so many values. */
function bucket(capacity: number, perS: number, refusal: UploadAnswer): (rows: TelemetryRows, atMs: number) => UploadAnswer {
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
  for (let block = 0; block < blocks; block += 1) await gateway.commit(Array.from({ length: 2_000 }, (_none, at) => `k${at % 50}`));
}

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
      const learned = await acceptedIn(120);
      const posts = gateway.posts.length;
      const accepted = await acceptedIn(300);
      const failed = gateway.posts.slice(posts).filter(({ answer }) => answer.kind !== 'accepted').length;
      console.log(_name, refusal.status, learned / 120, accepted / 300, failed, gateway.posts.length - posts);
      if (refusal.status === 429) console.log(gateway.posts.slice(0).filter((p)=>p.keys.length).map(({atMs,keys,answer})=>`${(atMs/1000).toFixed(1)}:${keys.length}${answer.kind==='accepted'?'':'x'}`).join(' ').slice(0,6000));
      expect(accepted / 300).toBeGreaterThanOrEqual(0.8 * LIMIT);
      expect(failed).toBeLessThan(120);
      if (refusal.status !== 500) await gateway.close();
    }
  });
});

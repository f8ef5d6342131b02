import { expect, it } from 'vitest';
import { amountsOf, type Progress, sizes, withProgress } from '../../../src/cli/progress.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type FakeEdge, fakeEdge } from '../../support/fake-edge.ts';

const CLEAR = '\r\u001b[K';
const never = new AbortController().signal;

/** Runs work under a fake clock until it ends. */
async function told(
  work: (progress: Progress, clock: FakeClock) => Promise<void>,
  { isTerminal = false, columns = 120, forMs = 120_000 } = {},
): Promise<{ readonly edge: FakeEdge; readonly clock: FakeClock }> {
  const [clock, edge] = [new FakeClock(), fakeEdge({ isTerminal, columns })];
  const ended = withProgress(edge.stderr, 'download', (progress) => work(progress, clock), clock);
  await clock.advance(forMs);
  await ended;
  return { edge, clock };
}

/** Downloads 31 MB at 0.5 MB a second, up to 20 MB. */
async function download(progress: Progress, clock: FakeClock): Promise<void> {
  for (let at = 0; at <= 400; at += 1) {
    progress.update(at * 50_000, 31_000_000, sizes);
    await clock.sleep(100, never);
  }
}

const drawn = (edge: FakeEdge): readonly string[] => edge.err().split(CLEAR).slice(1);

it('tells amount, share and time left on a terminal, and leaves the line clean', async () => {
  const { edge } = await told(download, { isTerminal: true });
  expect(drawn(edge)).toContain('download: 12.4 of 31.0 MB, 40 %, 37 s left');
  expect(edge.err().endsWith(CLEAR)).toBe(true);
});

it('redraws at most five times a second', async () => {
  const { edge } = await told(download, { isTerminal: true });
  // 40 s, and the end.
  expect(drawn(edge).length).toBeLessThanOrEqual(40 * 5 + 2);
  expect(drawn(edge).length).toBeGreaterThan(100);
});

it('tells the time left from the third second on', async () => {
  const { edge } = await told(download, { isTerminal: true });
  const first = drawn(edge).find((line) => line.includes(' left'));
  expect(first).toBe('download: 1.4 of 31.0 MB, 4 %, 59 s left');
});

it('goes by the rate of the last ten seconds', async () => {
  const { edge } = await told(
    async (progress, clock) => {
      // Slow at first, then ten times as fast.
      for (let at = 0; at < 20; at += 1, await clock.sleep(1_000, never)) progress.update(at, 1_000, amountsOf('rows'));
      for (let at = 0; at < 20; at += 1, await clock.sleep(1_000, never))
        progress.update(20 + at * 10, 1_000, amountsOf('rows'));
    },
    { isTerminal: true },
  );
  expect(drawn(edge)).toContain('download: 18 of 1000 rows, 1 %, 16 min 21 s left');
  expect(drawn(edge)).toContain('download: 200 of 1000 rows, 20 %, 1 min 19 s left');
});

it('tells of no time left while nothing moves', async () => {
  const { edge } = await told(
    async (progress, clock) => {
      progress.update(1, 4, amountsOf('segments'));
      await clock.sleep(30_000, never);
    },
    { isTerminal: true },
  );
  expect(drawn(edge)).toEqual(['download: 1 of 4 segments, 25 %', '']);
});

it('prints a line each ten seconds where no terminal is, and one at the end', async () => {
  const { edge } = await told(download);
  expect(edge.err().split('\n')).toEqual([
    'turnstone: download: 5.0 of 31.0 MB, 15 %, 52 s left',
    'turnstone: download: 9.9 of 31.0 MB, 32 %, 42 s left',
    'turnstone: download: 14.9 of 31.0 MB, 48 %, 32 s left',
    'turnstone: download: 19.9 of 31.0 MB, 64 %, 22 s left',
    'turnstone: download: ended after 40 s',
    '',
  ]);
});

it('says nothing of short work where no terminal is', async () => {
  const { edge } = await told(async (progress, clock) => {
    progress.update(1, 2, amountsOf('entries'));
    await clock.sleep(9_000, never);
  });
  expect(edge.err()).toBe('');
});

it('says that work is under way that tells no amount, and which step it is at', async () => {
  const { edge } = await told(async (progress, clock) => {
    await clock.sleep(11_000, never);
    progress.step('decrypting');
    await clock.sleep(11_000, never);
  });
  expect(edge.err()).toBe(
    'turnstone: download: under way for 10 s\nturnstone: download: decrypting\nturnstone: download: ended after 22 s\n',
  );
});

it('stays within a narrow terminal', async () => {
  const { edge } = await told(download, { isTerminal: true, columns: 30 });
  expect(Math.max(...drawn(edge).map((line) => line.length))).toBe(29);
});

it('leaves no timer behind, however the work ends', async () => {
  const [clock, edge] = [new FakeClock(), fakeEdge()];
  const failing = withProgress(edge.stderr, 'verify', () => Promise.reject(new Error('no disk')), clock);
  await expect(failing).rejects.toThrow('no disk');
  expect(clock.pending).toBe(0);
});

it('shows an amount whose total is not known', async () => {
  const { edge } = await told(async (progress) => progress.update(17, undefined, amountsOf('rows')), {
    isTerminal: true,
  });
  expect(drawn(edge)).toEqual(['download: 17 rows', '']);
});

it('writes both sizes in one unit', () => {
  expect(sizes(12_400_000, 31_000_000)).toBe('12.4 of 31.0 MB');
  expect(sizes(900, 20_000)).toBe('0.9 of 20.0 kB');
  expect(sizes(1_500_000_000, undefined)).toBe('1.5 GB');
});

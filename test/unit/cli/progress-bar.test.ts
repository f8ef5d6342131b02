import { describe, expect, it } from 'vitest';
import { ProgressBar, withBar } from '../../../src/cli/printer.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

describe('a progress bar', () => {
  it('moves on a terminal, and leaves the line clean', () => {
    const edge = fakeEdge({ isTerminal: true });
    const bar = new ProgressBar(edge.stderr, 'download');
    bar.update(50, 200, (amount) => `${amount} kB`);
    expect(edge.err()).toContain('download [########......................]  25% of 200 kB');
    bar.end();
    expect(edge.err().endsWith('\r\u001b[K')).toBe(true);
  });

  it('is drawn only when it has moved', () => {
    const edge = fakeEdge({ isTerminal: true });
    const bar = new ProgressBar(edge.stderr, 'download');
    for (let done = 0; done <= 1_000_000; done += 100) bar.update(done, 1_000_000);
    expect(edge.err().split('\r').length - 1).toBe(101);
  });

  it('prints nothing where no terminal is', () => {
    const edge = fakeEdge();
    const bar = new ProgressBar(edge.stderr, 'download');
    bar.update(1, 2);
    bar.end();
    expect(edge.err()).toBe('');
  });

  it('shows the amount where no total is known', () => {
    const edge = fakeEdge({ isTerminal: true });
    new ProgressBar(edge.stderr, 'download').update(17, undefined, (amount) => `${amount} kB`);
    expect(edge.err()).toContain('download 17 kB');
  });
});

describe('work with a bar', () => {
  const afterWork = async (ms: number, isTerminal = false): Promise<string> => {
    const [clock, edge] = [new FakeClock(), fakeEdge({ isTerminal })];
    const work = withBar(edge.stderr, 'verify', () => clock.sleep(ms, new AbortController().signal), clock);
    await clock.advance(ms);
    await work;
    return edge.err();
  };

  it('tells of long work in two lines where no terminal is', async () => {
    expect(await afterWork(14_000)).toBe('turnstone: verify: under way\nturnstone: verify: ended after 14 s\n');
  });

  it('tells of no other', async () => {
    expect(await afterWork(4_000)).toBe('');
    expect(await afterWork(14_000, true)).not.toContain('under way');
  });
});

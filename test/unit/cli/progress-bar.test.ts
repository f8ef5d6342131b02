import { describe, expect, it } from 'vitest';
import { ProgressBar } from '../../../src/cli/printer.ts';
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

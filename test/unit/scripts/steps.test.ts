import { expect, it } from 'vitest';
import { tellSteps } from '../../../scripts/steps.ts';

function told(isTerminal: boolean): string {
  let text = '';
  let nowMs = 0;
  const write = (piece: string): void => {
    text += piece;
  };
  const steps = tellSteps('release', { isTerminal, write }, () => nowMs);
  steps.begin('bundle');
  nowMs = 3_000;
  steps.begin('archive');
  for (const done of [100, 101, 200, 300, 400, 500, 600, 700]) {
    nowMs += done === 101 ? 10 : 2_000;
    steps.advance(done, 1_000);
  }
  nowMs = 20_400;
  steps.end();
  return text;
}

it('tells in lines where no terminal is: the beginning and the end of each step, and how far it is each ten seconds', () => {
  expect(told(false)).toBe(
    'release: bundle …\nrelease: bundle: 3 s\nrelease: archive …\nrelease: archive … 50 %, 10 s left\nrelease: archive: 17 s\nrelease: done in 20 s\n',
  );
});

it('shows on a terminal how much of a step is done and how long it takes, and leaves one line of it', () => {
  const lines = told(true).split('\n');
  expect(lines.map((line) => line.split('\r\u001b[K').at(-1))).toEqual([
    'release: bundle: 3 s',
    'release: archive: 17 s',
    'release: done in 20 s',
    '',
  ]);
  expect(lines[1]?.split('\r\u001b[K')).toEqual([
    'release: archive …',
    'release: archive … 10 %',
    'release: archive … 20 %, 16 s left',
    'release: archive … 30 %, 14 s left',
    'release: archive … 40 %, 12 s left',
    'release: archive … 50 %, 10 s left',
    'release: archive … 60 %, 8 s left',
    'release: archive … 70 %, 6 s left',
    'release: archive: 17 s',
  ]);
});

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
  for (const done of [1, 1.001, 2]) steps.advance(done, 4);
  nowMs = 10_400;
  steps.end();
  return text;
}

it('tells the beginning and the end of each step in lines where no terminal is', () => {
  expect(told(false)).toBe(
    'release: bundle …\nrelease: bundle: 3 s\nrelease: archive …\nrelease: archive: 7 s\nrelease: done in 10 s\n',
  );
});

it('shows on a terminal how much of a step is done, and leaves one line of it', () => {
  const lines = told(true).split('\n');
  expect(lines.map((line) => line.split('\r\u001b[K').at(-1))).toEqual([
    'release: bundle: 3 s',
    'release: archive: 7 s',
    'release: done in 10 s',
    '',
  ]);
  expect(lines[1]?.split('\r\u001b[K')).toEqual([
    'release: archive …',
    'release: archive … 25%',
    'release: archive … 50%',
    'release: archive: 7 s',
  ]);
});

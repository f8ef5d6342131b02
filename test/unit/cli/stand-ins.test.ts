import { expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

it.each([
  [
    'a socket of a board',
    ['board', '--socket', '/nowhere/board.sock'],
    EXIT.failure,
    'cannot listen on /nowhere/board.sock',
  ],
  [
    'a folder of a platform',
    ['platform', '--port', '0', '--data', '/proc/nope'],
    EXIT.usage,
    'cannot keep anything in /proc/nope',
  ],
])('says what is wrong with %s, which is no fault of the program', async (_of, words, exitCode, says) => {
  const edge = fakeEdge();
  expect(await runCommandLine(words, { edge, version: () => '1' })).toBe(exitCode);
  expect(edge.err()).toContain(says);
});

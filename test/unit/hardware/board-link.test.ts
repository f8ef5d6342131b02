import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { BoardLink } from '../../../src/hardware/board-link.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnstone-board-link-'));
const never = new AbortController().signal;
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the link to the board', () => {
  it('gives up a board that listens and does not greet, whoever waits for it', async () => {
    const socketPath = join(folder, 'board.sock');
    const accepted = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      socket.on('error', () => {});
      accepted.resolve();
    });
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    const clock = new FakeClock();
    const link = new BoardLink({ clock, socketPath });
    const asked = link.request('gpio.list', {}, never).catch((error: unknown) => error);
    await accepted.promise;
    await expect
      .poll(async () => {
        await clock.advance(5_000);
        return Promise.race([asked, undefined]);
      })
      .toMatchObject({ code: 'hardware/board-gone', recovery: 'retry' });
    await link.close();
    server.close();
  });
});

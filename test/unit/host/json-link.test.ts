/** A link over a real Unix socket: what comes through, and what ends it. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JsonLink } from '../../../src/host/json-link.ts';
import type { JsonObject } from '../../../src/values/json.ts';

let folder: string;
let path: string;
let close: () => void;
/** The other side, as bare bytes. */
let other: Promise<Socket>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnstone-link-'));
  path = join(folder, 'link.sock');
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer((socket) => accepted.resolve(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  other = accepted.promise;
  close = () => server.close();
});
afterEach(async () => {
  close();
  await rm(folder, { recursive: true, force: true });
});

async function heard(onMessage: (message: JsonObject) => void = () => {}) {
  const link = await JsonLink.connect(path, 64);
  const messages: JsonObject[] = [];
  const ended = new Promise<unknown>((end) =>
    link.listen({
      message: (message) => {
        messages.push(message);
        onMessage(message);
      },
      end,
    }),
  );
  return { link, messages, ended };
}

describe('a link of JSON lines', () => {
  it('carries objects both ways, whatever pieces they come in, and 64-bit numbers digit for digit', async () => {
    const { link, messages, ended } = await heard();
    const socket = await other;
    socket.write('{"a":1}\n{"b":');
    await expect.poll(() => messages).toEqual([{ a: 1 }]);
    socket.write('9007199254740993}\n');
    await expect.poll(() => messages).toEqual([{ a: 1 }, { b: 9007199254740993n }]);
    const received = new Promise((resolve) => socket.once('data', resolve));
    link.send({ c: 9007199254740993n });
    expect(String(await received)).toBe('{"c":9007199254740993}\n');
    link.close();
    expect(await ended).toBeUndefined();
    link.send({ d: 1 });
  });

  it.each(['nonsense\n', '[1]\n', 'null\n', `{"long":"${'x'.repeat(64)}"}\n`, 'x'.repeat(65)])(
    'ends when %j comes',
    async (text) => {
      const { messages, ended } = await heard();
      const socket = await other;
      socket.write(text);
      expect(await ended).toMatchObject({ code: 'host/no-message', recovery: 'drop' });
      expect(messages).toEqual([]);
    },
  );

  it('ends when whoever listens throws, and hears no more of what came with it', async () => {
    const fault = new Error('not what was asked');
    const { messages, ended } = await heard(() => {
      throw fault;
    });
    (await other).write('{"a":1}\n{"b":2}\n');
    expect(await ended).toBe(fault);
    expect(messages).toEqual([{ a: 1 }]);
  });

  it('says with the system’s own error that nobody listens', async () => {
    await expect(JsonLink.connect(join(folder, 'none.sock'), 64)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

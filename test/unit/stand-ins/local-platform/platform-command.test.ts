/** `turnstone platform`, from its flags to what it prints. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../../src/cli/frame/program.ts';
import { type FakeEdge, fakeEdge } from '../../../support/fake-edge.ts';

let folder: string;
let edge: FakeEdge;
/** First line that it printed. */
let printed: PromiseWithResolvers<string>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-command-'));
});
afterEach(async () => {
  edge.stop();
  await rm(folder, { recursive: true, force: true });
});

function run(...flags: string[]): Promise<number> {
  const fake = fakeEdge();
  printed = Promise.withResolvers();
  edge = { ...fake, stdout: { ...fake.stdout, write: (text) => printed.resolve(text) } };
  return runCommandLine(['platform', '--port', '0', '--json', ...flags], { edge, version: () => '' });
}

async function addresses(): Promise<{ readonly url: string; readonly tlsUrl?: string }> {
  const line = await printed.promise;
  expect(line).toMatch(/\n$/);
  return JSON.parse(line) as { readonly url: string; readonly tlsUrl?: string };
}

describe('the platform command', () => {
  it('serves a device that it was told of, over HTTP and over HTTPS by its certificate, until it is stopped', async () => {
    const certificateFile = join(folder, 'cert.pem');
    const done = run('--device', 'gw=the-token', '--tls-port', '0', '--tls-certificate-file', certificateFile);
    const { url, tlsUrl } = await addresses();
    const dispatcher = new Agent({ connect: { ca: await readFile(certificateFile, 'utf8') } });
    for (const base of [url, tlsUrl ?? '']) {
      const answer = await request(`${base}/api/v1/the-token/telemetry`, {
        method: 'POST',
        body: '{"a":1}',
        dispatcher,
      });
      expect(answer.statusCode).toBe(200);
      await answer.body.dump();
    }
    edge.stop();
    await done;
    await expect(request(`${url}/api/v1/the-token/telemetry`, { method: 'POST', body: '{"a":1}' })).rejects.toThrow();
    await dispatcher.close();
  });

  it.each([
    [
      ['--telemetry-limit', '1:3600'],
      [200, 500],
      [200, 200],
    ],
    [
      ['--message-limit', '1:3600'],
      [200, 500],
      [200, 500],
    ],
    [
      ['--message-limit', '1:3600', '--telemetry-limit', '2:3600'],
      [200, 200],
      [200, 500],
    ],
    [
      ['--message-limit', '2:3600', '--data-point-limit', '1:3600'],
      [200, 500],
      [200, 200],
    ],
  ])('counts messages of telemetry apart from others: %j', async (flags, telemetry, others) => {
    const done = run('--device', 'gw=the-token', ...flags);
    const { url } = await addresses();
    const post = async (path: string): Promise<number> => {
      const answer = await request(`${url}/api/v1/the-token/${path}`, { method: 'POST', body: '{"a":1}' });
      await answer.body.dump();
      return answer.statusCode;
    };
    expect([await post('telemetry'), await post('telemetry')]).toEqual(telemetry);
    expect([await post('rpc/1'), await post('rpc/1')]).toEqual(others);
    edge.stop();
    await done;
  });

  it('keeps its data in the folder', async () => {
    for (const expected of [undefined, 1]) {
      const done = run('--data', join(folder, 'data'), '--device', 'gw=the-token');
      const { url } = await addresses();
      const found = await request(`${url}/api/v1/the-token/attributes`);
      expect(((await found.body.json()) as { readonly client?: { readonly a?: number } }).client?.a).toBe(expected);
      await (await request(`${url}/api/v1/the-token/attributes`, { method: 'POST', body: '{"a":1}' })).body.dump();
      edge.stop();
      await done;
    }
  });

  it('says in one line that a port is taken, and what to do', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { readonly port: number };
    expect(await run('--port', String(port))).toBe(1);
    expect(edge.err()).toMatch(/^{"error":{[^\n]*taken[^\n]*choose another[^\n]*}}\n$/);
    server.close();
  });
});

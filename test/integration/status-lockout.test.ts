/** A whole agent that is locked out at the device, and the page as somebody in the network has it. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { freePort } from '../support/free-port.ts';

const PIN = 'look-pin-7720';
const WITHIN = { timeout: 20_000, interval: 200 };
const address = Object.values(networkInterfaces())
  .flatMap((one) => one ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

describe.skipIf(address === undefined)('the page in the LAN of an agent that is locked out', () => {
  let platform: LocalPlatform;
  let agent: AgentProcess;
  let port: number;

  beforeAll(async () => {
    platform = await LocalPlatform.start();
    platform.ensureDevice('look-agent', 'look-agent-token');
    port = await freePort();
    const lock = join('/tmp', `turnstone-look-lock-${port}`);
    await writeFile(lock, '');
    const config = [
      'version: 1',
      `platform: { url: "${platform.url}", accessToken: look-agent-token }`,
      'time: { trust: always }',
      `status: { page: lan, port: ${port}, pin: ${PIN}, control: true }`,
      `rpc: { lockout: { file: ${lock} } }`,
      'sensors: [{ name: machine, kind: host }]',
      'actuators: [{ name: pump, kind: command, program: /bin/true, arguments: ["{value}"], valueType: boolean, safe: { start: off } }]',
    ];
    agent = await AgentProcess.make(config.join('\n'), 'LOOK-1');
    agent.start();
  });

  afterAll(async () => {
    await agent?.remove();
    await platform?.close();
  });

  it('switches nothing on for somebody in the network, as its words promise', { timeout: 60_000 }, async () => {
    await vi.waitFor(async () => expect((await ask('GET', '/api/status')).body).toContain('"lockedOut":true'), WITHIN);
    const { status, body } = await ask('POST', '/api/operation', {
      operation: 'setActuator',
      params: { name: 'pump', value: true },
    });
    expect([status, body]).toEqual([409, expect.stringContaining('locked-out')]);
  });

  async function ask(
    method: string,
    path: string,
    wish?: object,
  ): Promise<{ readonly status: number | undefined; readonly body: string }> {
    const headers = { authorization: `Bearer ${PIN}`, 'content-type': 'application/json' };
    const sent = request({ host: address, port, path, method, headers, agent: false, rejectUnauthorized: false });
    sent.end(wish === undefined ? undefined : JSON.stringify(wish));
    const [response] = await once(sent, 'response');
    return { status: response.statusCode, body: await text(response) };
  }
});

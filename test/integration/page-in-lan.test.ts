/** The page in the LAN of a whole agent: one certificate over restarts and kills, made anew when its file is damaged, and told wherever it is compared. */
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { freePort } from '../support/free-port.ts';

const PIN = 'page-pin-66120';
const WITHIN = { timeout: 20_000, interval: 200 };

describe("an agent's page in the LAN", () => {
  let platform: LocalPlatform;
  let agent: AgentProcess;
  let port: number;

  beforeAll(async () => {
    platform = await LocalPlatform.start();
    platform.ensureDevice('lan-agent', 'lan-agent-token');
    port = await freePort();
    const config = [
      'version: 1',
      `platform: { url: "${platform.url}", accessToken: lan-agent-token }`,
      'time: { trust: always }',
      `status: { page: lan, port: ${port}, pin: ${PIN} }`,
      'sensors: [{ name: machine, kind: host }]',
    ];
    agent = await AgentProcess.make(config.join('\n'), 'LAN-1');
    agent.start();
  });

  afterAll(async () => {
    await agent?.remove();
    await platform?.close();
  });

  it('keeps its certificate over a stop and a kill, for its owner alone, and makes another where the file is damaged', {
    timeout: 90_000,
  }, async () => {
    const first = await vi.waitFor(() => fingerprintAt(port), WITHIN);
    const file = join(agent.folder, 'state/page-certificate.pem');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await agent.stop(signal);
      agent.start();
      expect(await vi.waitFor(() => fingerprintAt(port), WITHIN)).toBe(first);
    }
    await agent.stop();
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.slice(0, -200));
    agent.start();
    const second = await vi.waitFor(() => fingerprintAt(port), WITHIN);
    expect(second).not.toBe(first);
    expect(agent.log).toContain("the page's certificate is damaged and is made anew");
    const { out } = await agent.command(['status', '--json']);
    expect(JSON.parse(out).page).toEqual({ url: expect.stringMatching(`^https://.+:${port}$`), fingerprint: second });
    expect(agent.log).toContain(`"certificate":"${second}"`);
    expect(agent.log).not.toContain(PIN);
    expect(agent.log).not.toContain('PRIVATE KEY');
  });
});

async function fingerprintAt(port: number): Promise<string> {
  const request = get({ host: '127.0.0.1', port, path: '/healthz', agent: false, rejectUnauthorized: false });
  const [response] = await once(request, 'response');
  const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate();
  response.resume();
  return fingerprint256;
}

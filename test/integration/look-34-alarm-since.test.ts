/** An alarm that stands over a restart of the agent, and since when it is. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LocalPlatform } from '../../src/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { freePort } from '../support/free-port.ts';

const WITHIN = { timeout: 20_000, interval: 200 };

describe('an alarm that stands over a restart', () => {
  let platform: LocalPlatform;
  let agent: AgentProcess;
  let port: number;

  beforeAll(async () => {
    platform = await LocalPlatform.start();
    platform.ensureDevice('look-agent', 'look-agent-token');
    port = await freePort();
    const config = [
      'version: 1',
      `platform: { url: "${platform.url}", accessToken: look-agent-token }`,
      'time: { trust: always }',
      `status: { port: ${port} }`,
      'sensors: [{ name: machine, kind: host, period: 1s, keys: { uptimeS: { alarms: [{ name: old, above: 1 }] } } }]',
    ];
    agent = await AgentProcess.make(config.join('\n'), 'LOOK-2');
    agent.start();
  });

  afterAll(async () => {
    await agent?.remove();
    await platform?.close();
  });

  it('is told with the time at which it began', { timeout: 90_000 }, async () => {
    const before = await vi.waitFor(alarmSince, WITHIN);
    // The timeline has it, and what stands is kept.
    await vi.waitFor(async () => expect(await readFile(join(agent.folder, 'state/timeline.jsonl'), 'utf8')).toContain('"alarm"'), WITHIN);
    await delay(3_000);
    await agent.stop();
    agent.start();
    const after = await vi.waitFor(alarmSince, WITHIN);
    expect(Math.abs(after - before)).toBeLessThan(1_000);
  });

  /** On this boot's own scale of time. */
  async function alarmSince(): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${port}/api/status`);
    const { alarms } = (await answer.json()) as { alarms: { sinceMs: number }[] };
    const [alarm] = alarms;
    if (alarm === undefined) throw new Error('no alarm yet');
    return alarm.sinceMs;
  }
});

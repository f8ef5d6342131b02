/** The status side of a whole agent: health, metrics, metrics as telemetry, and a page beneath which the agent is killed. */

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { launchBrowser, missingBrowser, WatchedPage } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';

const TOKEN = 'status-agent-token-93781';
const WITHIN = { timeout: 20_000, interval: 200 };

describe('the status side of an agent', () => {
  let platform: LocalPlatform;
  let agent: AgentProcess;
  let url: string;
  let deviceId: string;

  beforeAll(async () => {
    platform = await LocalPlatform.start();
    deviceId = platform.ensureDevice('status-agent', TOKEN).id;
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const config = [
      'version: 1',
      `platform: { url: "${platform.url}", accessToken: ${TOKEN} }`,
      'time: { trust: always }',
      'outbox: { commitAge: 1s }',
      `status: { page: loopback, port: ${port}, telemetryPeriod: 1s }`,
      'sensors: [{ name: machine, kind: host, period: 1s, keys: { load1: { rename: load, scale: 0, offset: 7, unit: cars } } }]',
    ];
    agent = await AgentProcess.make(config.join('\n'), 'STATUS-1');
    agent.start();
    await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), WITHIN);
  }, 40_000);

  afterAll(async () => {
    await agent?.remove();
    await platform?.close();
  });

  it('is healthy and ready while it delivers', async () => {
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ ok: true, reasons: [] });
  });

  it('gives the numbers in the form of Prometheus, and each as telemetry', async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    expect(value('turnstone_upload_acknowledged_entries_total')).toBeGreaterThan(0);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(20e6);
    expect(text).toMatch(/^turnstone_reading\{sensor="machine",key="load",unit="cars"\} 7$/m);
    expect(text).toMatch(/^turnstone_upload_duration_seconds_bucket\{le="\+Inf"\} \d+$/m);
    expect(
      text.split('\n').filter((line) => line !== '' && !/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? \S+)$/.test(line)),
    ).toEqual([]);
    await vi.waitFor(
      () => expect(platform.state.telemetry.keys(deviceId)).toContain('uploadAcknowledgedEntriesTotal'),
      WITHIN,
    );
    expect(platform.state.telemetry.keys(deviceId)).toEqual(
      expect.arrayContaining(['outboxHeldEntries', 'connectionState_idle', 'processResidentMemoryBytes']),
    );
  });

  it('shows readings as the platform gets them, and the hours before from the disk', async () => {
    const status = (await (await fetch(`${url}/api/status`)).json()) as { sensors: [{ readings: unknown }] };
    const readings = status.sensors[0].readings as { key: string; value: number; unit?: string }[];
    expect(readings.find(({ key }) => key === 'load')).toMatchObject({ value: 7, unit: 'cars' });
    const answer = await fetch(`${url}/api/series?key=load&key=cpuPercent`);
    const series = (await answer.json()) as Record<'load' | 'cpuPercent', [number[], number[]]>;
    expect(new Set(series.load[1])).toEqual(new Set([7]));
    expect(series.cpuPercent[0].length).toBeGreaterThan(0);
  });

  it('tells its start and its contact as what happened', async () => {
    const { events } = (await (await fetch(`${url}/api/timeline?kind=start,contact`)).json()) as {
      events: { kind: string; words: string }[];
    };
    expect(events.map(({ kind }) => kind)).toEqual(['contact', 'start']);
    expect(events[0]?.words).toBe('The platform is reached.');
    expect((await fetch(`${url}/api/timeline?kind=weather`)).status).toBe(400);
  });

  it('knows an answer from the first moment at which it can be asked', () => {
    // Readiness was asked from before the agent listened.
    expect(agent.log).toContain('the status page can be opened');
    expect(agent.log).not.toContain('could not answer');
  });

  it('never says the access token', async () => {
    const texts = await Promise.all(
      ['/', '/api/status', '/metrics', '/api/doctor', '/api/claim'].map(async (path) =>
        (await fetch(url + path)).text(),
      ),
    );
    expect(texts.filter((text) => text.includes(TOKEN))).toEqual([]);
  });

  it.skipIf(missingBrowser() !== undefined)(
    'comes back to a page that was open when the agent was killed',
    async () => {
      const browser: Browser = await launchBrowser();
      try {
        const { page } = await WatchedPage.open(await browser.newContext());
        await page.goto(url);
        await page.locator('#verdict[data-state=good]').waitFor();
        await agent.stop('SIGKILL');
        await page.getByText('No contact with the agent').waitFor();
        agent.start();
        await page.locator('#verdict[data-state=good]').waitFor({ timeout: 30_000 });
      } finally {
        await browser.close();
      }
    },
    60_000,
  );
});

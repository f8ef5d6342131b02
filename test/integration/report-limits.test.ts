/** Many callers at once against the local service's limits: the pool and the queue hold, everybody is served in the end. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { ReportClient } from '../../src/office/reports/report-client.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';

const CALLS = 500;
const POOL = 4;
const QUEUE = 10;
/** Each execution takes so long, and a call holds one of 14 places for it. */
const DELAY_MS = 25;
const MAX_ABOVE_IDLE_MB = 150;
const VIEW = '7e57ab1e-0000-4000-8000-000000000001';

let platform: LocalPlatform;

beforeAll(async () => {
  platform = await LocalPlatform.start({
    analytics: { threadPoolSize: POOL, queueCapacity: QUEUE, delayMs: DELAY_MS },
  });
  const { id } = platform.ensureDevice('gateway-1', 'token-1');
  for (let minute = 0; minute < 100; minute += 1)
    platform.state.telemetry.save(id, 1_780_000_000_000 + minute * 60_000, { temperature: minute / 10 });
});

afterAll(() => platform.close());

describe(`${CALLS} reports at once`, () => {
  it('hold exactly pool and queue at a time, are refused beyond, and all succeed in the end', async () => {
    let refusals = 0;
    const client = new ReportClient({
      settings: {
        url: platform.url,
        basePath: '/apiAnalytics',
        user: 'tenant@thingsboard.org',
        password: 'tenant',
        tokenIn: 'query',
        requestTimeoutMs: 60_000,
        deadlineMs: 120_000,
      },
      clock: systemClock,
      onWait: () => {
        refusals += 1;
      },
    });
    const most = { running: 0, waiting: 0, held: 0 };
    const watching = setInterval(() => {
      const { running, waiting } = platform.reportPool.held;
      most.running = Math.max(most.running, running);
      most.waiting = Math.max(most.waiting, waiting);
      most.held = Math.max(most.held, running + waiting);
    }, 2);
    const idleBytes = process.memoryUsage().rss;
    let peakBytes = idleBytes;
    const one = async (): Promise<number> => {
      let rows = 0;
      for await (const part of client.buildReport({ viewConfigId: VIEW }, new AbortController().signal))
        if (part.kind === 'rows') rows += part.rows.length;
      peakBytes = Math.max(peakBytes, process.memoryUsage().rss);
      return rows;
    };
    const startedMs = performance.now();
    const rows = await Promise.all(Array.from({ length: CALLS }, one));
    clearInterval(watching);
    await client.close();
    const aboveIdleMb = Math.round((peakBytes - idleBytes) / 1e6);
    console.log(
      `${CALLS} reports: ${refusals} refusals, at most ${most.running} running and ${most.waiting} waiting, ${Math.round(performance.now() - startedMs)} ms, ${aboveIdleMb} MB above idle`,
    );
    expect(new Set(rows)).toEqual(new Set([100]));
    expect(most).toEqual({ running: POOL, waiting: QUEUE, held: POOL + QUEUE });
    // How many depends on how quickly the machine makes the calls.
    expect(refusals).toBeGreaterThan(0);
    expect(aboveIdleMb).toBeLessThan(MAX_ABOVE_IDLE_MB);
  }, 180_000);
});

/**
 * The demo's board and agent, for some seconds, and then the question: does the report say what the board's own record says? Then faults
 * are planted in the platform's store, behind its API: the audit must find each, and mend what can be mended.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readAppended, readShown } from '../../scripts/demo/accounts.ts';
import { DEMO_DEVICES } from '../../scripts/demo/attached-devices.ts';
import { judgeDelivery, lastPause, type StoredValue, wallOffset } from '../../scripts/demo/delivery-verdict.ts';
import { ACCESS_TOKEN, DEVICE_NAME, type SettingPaths, writeSetting } from '../../scripts/demo/setting.ts';
import { systemClock } from '../../src/host/clock.ts';
import { ReportClient } from '../../src/office/reports/report-client.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AGENT_PROGRAM } from '../support/agent-program.ts';

const ALL_TELEMETRY = '7e57ab1e-0000-4000-8000-000000000001';
const BY_HOUR = '7e57ab1e-0000-4000-8000-000000000002';
const USER = 'tenant@thingsboard.org';
const PASSWORD = 'tenant';
const RUN_MS = 8_000;

let folder = '';
let platform: LocalPlatform;
let deviceId = '';
let paths: SettingPaths;
const children: ReturnType<typeof spawn>[] = [];

function start(args: readonly string[]): ReturnType<typeof spawn> {
  const child = spawn(process.execPath, [AGENT_PROGRAM, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  children.push(child);
  return child;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-audit-'));
  platform = await LocalPlatform.start();
  deviceId = platform.ensureDevice(DEVICE_NAME, ACCESS_TOKEN).id;
  paths = await writeSetting(folder, { platformUrl: platform.url, pagePort: 0 });
  start(['board', '--socket', paths.boardSocket, '--config', paths.boardConfig, '--record', paths.boardRecord]);
  start(['run', '--config', paths.agentConfig, '--record-appends', paths.appendRecord]);
  await vi.waitUntil(() => platform.state.telemetry.keys(deviceId).length > 10, { timeout: 20_000 });
  await delay(RUN_MS);
}, 60_000);

afterAll(async () => {
  for (const child of children.toReversed()) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.kill('SIGTERM')) await ended;
  }
  await platform.close();
  await rm(folder, { recursive: true, force: true });
});

interface AuditAnswer {
  readonly exitCode: number | null;
  readonly ok: boolean;
  readonly lines: readonly {
    readonly key: string;
    readonly sent: number;
    readonly found: number;
    readonly missing: number;
    readonly different: readonly string[];
  }[];
  readonly notShown: readonly string[];
  readonly resent: readonly { readonly key: string; readonly entries: number }[];
}

/** The real command; what it prints as JSON. */
async function audit(view: string, ...more: readonly string[]): Promise<AuditAnswer> {
  const words = [
    'audit',
    view,
    '--last',
    '3h',
    '--url',
    platform.url,
    '--user',
    USER,
    '--run-folder',
    paths.runFolder,
    '--json',
    ...more,
  ];
  const child = spawn(process.execPath, [AGENT_PROGRAM, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TURNSTONE_ANALYTICS_PASSWORD: PASSWORD },
  });
  let out = '';
  child.stdout.on('data', (piece: Buffer) => {
    out += piece.toString();
  });
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { exitCode, ...JSON.parse(out) };
}

const faulty = ({ lines }: AuditAnswer) =>
  lines.filter(({ missing, different }) => missing > 0 || different.length > 0);
const points = (key: string) => [...platform.state.telemetry.series(deviceId, key).scan(0, Number.MAX_SAFE_INTEGER)];

async function readBack(): Promise<Map<string, StoredValue[]>> {
  const client = new ReportClient({
    settings: {
      url: platform.url,
      basePath: '/apiAnalytics',
      user: USER,
      password: PASSWORD,
      tokenIn: 'header',
      requestTimeoutMs: 10_000,
      deadlineMs: 10_000,
    },
    clock: systemClock,
  });
  const stored = new Map<string, StoredValue[]>();
  for await (const part of client.buildReport(
    { viewConfigId: ALL_TELEMETRY, filters: { Device: [DEVICE_NAME] } },
    new AbortController().signal,
  )) {
    if (part.kind !== 'rows') continue;
    for (const { Key, Time, Value } of part.rows) {
      const values = stored.get(String(Key)) ?? [];
      stored.set(String(Key), [...values, { ts: Number(Time), value: Value ?? null }]);
    }
  }
  await client.close();
  return stored;
}

/** Devices behind the gateway are not made here. */
const isOfGateway = ({ key }: { readonly key: string }): boolean =>
  !DEMO_DEVICES.some(({ name }) => key.startsWith(name));

describe('what the demo sent, asked back', () => {
  it('equals what the board’s own record says, key by key', async () => {
    const appendedFirst = (await readAppended(paths.appendRecord)).filter(isOfGateway);
    // Everything that was durable by now has been sent when as much again has arrived.
    await expect
      .poll(async () => (await readBack()).get('roomTemperature')?.length ?? 0, { timeout: 10_000 })
      .toBeGreaterThan(appendedFirst.filter(({ key }) => key === 'roomTemperature').length);
    const stored = await readBack();
    const wallOffsetMs = wallOffset();
    const untilMs = lastPause(appendedFirst);
    const appended = appendedFirst.filter(({ monotonicMs }) => monotonicMs <= untilMs);
    const early = new Map(
      [...stored].map(([key, values]) => [key, values.filter(({ ts }) => ts - wallOffsetMs <= untilMs)]),
    );
    const shown = (await readShown(paths.boardRecord)).filter((one) => isOfGateway(one) && one.monotonicMs <= untilMs);
    const verdict = judgeDelivery({ shown, appended, stored: early, wallOffsetMs });
    console.log(
      `board showed ${shown.length}, durable ${verdict.appended}, in the report ${verdict.stored}: ${verdict.missing} missing, ${verdict.different} different`,
    );
    expect(verdict.faults).toEqual([]);
    expect(verdict.appended).toBeGreaterThan(50);
  });

  it('passes the audit of a clean run', async () => {
    const result = await audit(ALL_TELEMETRY);
    expect(faulty(result)).toEqual([]);
    expect(result).toMatchObject({ exitCode: 0, ok: true, notShown: [] });
    expect(result.lines.reduce((sum, { sent }) => sum + sent, 0)).toBeGreaterThan(50);
  });

  it('finds one entry deleted, one altered, and one whole hour missing, each by its key', async () => {
    const { telemetry } = platform.state;
    const deleted = points('roomTemperature')[2];
    const altered = points('roomHumidity')[3];
    const door = points('doorOpen')[1];
    if (deleted === undefined || altered === undefined || door === undefined) throw new Error('too few points');
    const hour = points('roomPressure').length;
    telemetry.series(deviceId, 'roomTemperature').remove(deleted.ts, deleted.ts + 1);
    telemetry.save(deviceId, altered.ts, { roomHumidity: (altered.value as number) + 0.5 });
    // Values that are no numbers can be judged only by the first, the last and those that the gateway keeps.
    telemetry.save(deviceId, door.ts, { doorOpen: door.value !== true });
    telemetry.series(deviceId, 'roomPressure').remove(0, Number.MAX_SAFE_INTEGER);
    const result = await audit(ALL_TELEMETRY);
    expect(result.exitCode).toBe(1);
    const sums = new Map<string, { missing: number; different: number }>();
    for (const { key, missing, different } of faulty(result)) {
      const sum = sums.get(key) ?? { missing: 0, different: 0 };
      sums.set(key, { missing: sum.missing + missing, different: sum.different + different.length });
    }
    expect([...sums.keys()].sort()).toEqual(['doorOpen', 'roomHumidity', 'roomPressure', 'roomTemperature']);
    expect(sums.get('roomTemperature')).toEqual({ missing: 1, different: 0 });
    expect(sums.get('doorOpen')).toEqual({ missing: 0, different: 1 });
    expect(sums.get('roomHumidity')).toEqual({ missing: 0, different: 1 });
    // Entries that arrived since are there again; those that were there are not.
    expect(sums.get('roomPressure')?.missing).toBeGreaterThanOrEqual(hour);
  });

  it('sees them in the report by the hour as well', async () => {
    const keys = new Set(faulty(await audit(BY_HOUR)).map(({ key }) => key));
    for (const key of ['roomHumidity', 'roomPressure', 'roomTemperature']) expect(keys).toContain(key);
  });

  it('mends them with --resend, from what the gateway still keeps', async () => {
    const result = await audit(ALL_TELEMETRY, '--resend');
    expect(result.exitCode).toBe(1);
    expect(new Set(result.resent.map(({ key }) => key))).toEqual(
      new Set(['doorOpen', 'roomHumidity', 'roomPressure', 'roomTemperature']),
    );
    // An entry that waits to be sent again counts as sent once it is acknowledged: a whole report alone can come before.
    await expect
      .poll(
        async () => {
          const { exitCode, lines } = await audit(ALL_TELEMETRY);
          return exitCode === 0 ? (lines.find(({ key }) => key === 'roomPressure')?.sent ?? 0) : 0;
        },
        { timeout: 30_000, interval: 1_000 },
      )
      .toBeGreaterThan(5);
  }, 60_000);
});

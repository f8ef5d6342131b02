import { describe, expect, it } from 'vitest';
import type { TelemetryEntry } from '../../../src/outbox/format/telemetry-entry.ts';
import { type Metric, metricsOf, prometheusText } from '../../../src/status/metrics.ts';
import { healthOf, readinessOf } from '../../../src/status/platform-status.ts';
import { SelfTelemetry, telemetryKey } from '../../../src/status/self-telemetry.ts';
import type { AgentStatus } from '../../../src/status/shape/agent-status.ts';
import { UploadTimes } from '../../../src/telemetry/upload-times.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { workingView } from '../../support/status-bench.ts';

const VIEW = workingView(7_300_000, 1_780_000_000_000);
const STATUS: AgentStatus = { ...VIEW, bootId: 'boot', configHash: 'hash' };

function metrics(change: Partial<AgentStatus> = {}): readonly Metric[] {
  return metricsOf({
    status: { ...STATUS, ...change },
    view: VIEW,
    uploads: new UploadTimes(new FakeClock()).status(),
    process: { residentBytes: 60e6, heapUsedBytes: 20e6, cpuSeconds: 1.5 },
    openPages: 2,
  });
}

describe('metricsOf', () => {
  it('names its numbers as Prometheus wants them: counters end in _total, others do not, units are base units', () => {
    for (const { name, type } of metrics()) {
      expect(name).toMatch(/^(turnstone|process|nodejs)_[a-z_]+$/);
      expect(name.endsWith('_total')).toBe(type === 'counter');
      expect(name).not.toMatch(/_(ms|milliseconds|hours|kb|percent)\b/);
    }
  });

  it('counts what was changed so that the platform keeps it, also as telemetry', () => {
    const adapted = { renamed: 3, retimed: 2, asText: 1 };
    const text = prometheusText(metrics({ adapted }));
    for (const line of ['renamed_entries_total 3', 'retimed_entries_total 2', 'text_entries_total 1'])
      expect(text).toContain(`turnstone_telemetry_${line}\n`);
    expect(metrics({ adapted }).map((metric) => telemetryKey(metric))).toContain('telemetryRenamedEntriesTotal');
  });

  it('counts what damage took apart from what gave way', () => {
    const text = prometheusText(metrics({ outbox: { ...STATUS.outbox, dropped: 3, damaged: 7 } }));
    expect(text).toContain('turnstone_outbox_dropped_entries_total 3\n');
    expect(text).toContain('turnstone_outbox_damaged_entries_total 7\n');
  });

  it('gives ages in seconds and one state that is 1', () => {
    const text = prometheusText(metrics());
    expect(text).toContain('turnstone_upload_last_acknowledged_age_seconds 0.9\n');
    expect(text).toContain('turnstone_uptime_seconds 7200\n');
    expect(text.match(/^turnstone_connection_state\{.*\} 1$/gm)).toEqual([
      'turnstone_connection_state{state="idle"} 1',
    ]);
  });
});

describe('prometheusText', () => {
  it('escapes what a label or a help text may hold, and writes what is no number as Prometheus reads it', () => {
    const samples = [{ labels: { sensor: 'a"b\\c\nd' }, value: Number.POSITIVE_INFINITY }, { value: Number.NaN }];
    expect(
      prometheusText([
        { name: 'x', help: 'one\ntwo', type: 'gauge', samples },
        { name: 'empty', help: '', type: 'gauge', samples: [] },
      ]),
    ).toBe('# HELP x one\\ntwo\n# TYPE x gauge\nx{sensor="a\\"b\\\\c\\nd"} +Inf\nx NaN\n');
  });
});

describe('UploadTimes', () => {
  it('counts outcomes and durations, a failure too, and passes on what the upload gave', async () => {
    const clock = new FakeClock();
    const times = new UploadTimes(clock);
    const upload = (ms: number, kind: string) => async () => {
      await clock.advance(ms);
      return { kind };
    };
    expect(await times.measure(upload(40, 'accepted'))).toEqual({ kind: 'accepted' });
    await times.measure(upload(600, 'accepted'));
    await times.measure(upload(1, 'busy'));
    await expect(times.measure(() => Promise.reject(new Error('cut')))).rejects.toThrow('cut');
    const status = times.status();
    expect(status).toMatchObject({
      lastMs: 600,
      medianMs: 600,
      outcomes: { accepted: 2, busy: 1, failed: 1 },
      count: 4,
    });
    expect(status.sumSeconds).toBeCloseTo(0.641);
    expect(new Map(status.buckets).get(0.05)).toBe(3);
    expect(new Map(status.buckets).get(1)).toBe(4);
  });
});

describe('SelfTelemetry', () => {
  it('reports at the period in force, and nothing while there is none', async () => {
    const clock = new FakeClock();
    const reported: TelemetryEntry[][] = [];
    let periodMs: number | undefined;
    const self = new SelfTelemetry({
      clock,
      periodMs: () => periodMs,
      metrics: () => metrics(),
      append: (entries) => reported.push([...entries]),
    });
    await clock.advance(60_000);
    expect(reported).toEqual([]);
    periodMs = 10_000;
    await clock.advance(25_000);
    expect(reported.length).toBe(3);
    const keys = reported[0]?.map(({ key }) => key) ?? [];
    expect(keys).toEqual(
      expect.arrayContaining(['outboxHeldEntries', 'outboxLaneEntries_live', 'processCpuSecondsTotal']),
    );
    expect(keys.filter((key) => key.startsWith('reading') || key.startsWith('buildInfo'))).toEqual([]);
    expect(new Set(keys).size).toBe(keys.length);
    self.close();
    await clock.advance(60_000);
    expect(reported.length).toBe(3);
  });

  it('has no key for what telemetry has already', () => {
    expect(
      telemetryKey({ name: 'turnstone_reading', help: '', type: 'gauge', samples: [], inTelemetry: false }),
    ).toBeUndefined();
  });
});

describe('health', () => {
  it('is bad only for what is wrong on this machine; readiness also for the way to the platform', () => {
    const held = {
      ...STATUS,
      platform: { ...STATUS.platform, verdict: 'fault' as const, words: 'the token is refused' },
    };
    expect(healthOf(held)).toEqual({ ok: true, reasons: [] });
    expect(readinessOf(held)).toEqual({ ok: false, reasons: ['the token is refused'] });
    const full = { ...STATUS, outbox: { ...STATUS.outbox, fault: 'ENOSPC' } };
    expect(healthOf(full).ok).toBe(false);
    expect(readinessOf(full).ok).toBe(false);
    const hanging = { ...STATUS, outbox: { ...STATUS.outbox, hangingReadMs: 60_000 } };
    expect([healthOf(hanging).ok, readinessOf(hanging).ok]).toEqual([true, false]);
    expect(readinessOf(STATUS)).toEqual({ ok: true, reasons: [] });
    expect(readinessOf({ ...STATUS, platform: { ...STATUS.platform, verdict: 'waiting' } }).ok).toBe(false);
  });
});

import { describe, expect, it } from 'vitest';
import type { CheckContext } from '../../../src/doctor/checks/checkup.ts';
import { otherDevices } from '../../../src/doctor/checks/devices-check.ts';
import { shortStatus } from '../../../src/operations/short-status.ts';
import { metricsOf, prometheusText } from '../../../src/status/metrics.ts';
import { telemetryKey } from '../../../src/status/self-telemetry.ts';
import type { AgentStatus } from '../../../src/status/shape/agent-status.ts';
import {
  type DeviceStatus,
  deviceAlerts,
  devicesSummary,
  deviceVerdict,
  toldDevices,
} from '../../../src/status/shape/device-status.ts';
import { UploadTimes } from '../../../src/telemetry/upload-times.ts';
import { attachedDevice } from '../../support/attached-device-status.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { workingView } from '../../support/status-bench.ts';

const NOW_MS = 7_300_000;
const VIEW = workingView(NOW_MS, 1_780_000_000_000);
const STATUS: AgentStatus = { ...VIEW, bootId: 'boot', configHash: 'hash' };
const many = (count: number, state: DeviceStatus['state'] = 'ready'): readonly DeviceStatus[] =>
  Array.from({ length: count }, (_, at) => attachedDevice({ name: `gateway-7 ${state}${at}`, state }));

describe('the sentence of a device', () => {
  it.each<[Partial<DeviceStatus>, string, string]>([
    [{}, 'good', 'up to date'],
    [{ heldEntries: 3 }, 'good', 'up to date, 3 entries wait'],
    [{ heldEntries: 446, isBehind: true }, 'waiting', 'its entries are late, 446 entries wait'],
    [{ state: 'unidentified', heldEntries: 1 }, 'waiting', 'its serial number is not known yet, 1 entry waits'],
    [{ state: 'unidentified', reason: 'it went away', heldEntries: 2 }, 'waiting', 'it went away, 2 entries wait'],
    [
      { state: 'provisioning', reason: 'no contact' },
      'waiting',
      'the platform has not given it a token yet: no contact',
    ],
    [
      { reason: 'the platform answers 500', heldEntries: 9 },
      'waiting',
      'its entries are kept, 9 entries wait: the platform answers 500',
    ],
    [{ state: 'blocked' }, 'fault', 'blocked: the platform refuses its token'],
    [
      { state: 'blocked', reason: 'it was deleted there', heldEntries: 7 },
      'fault',
      'blocked, 7 entries wait: it was deleted there',
    ],
    [{ state: 'removed' }, 'good', 'taken out of the configuration, nothing waits'],
    [{ state: 'removed', goneBy: 'swap' }, 'good', 'swapped for another device, nothing waits'],
    [{ state: 'removed', goneBy: 'move', heldEntries: 1 }, 'waiting', 'went to another gateway, 1 entry waits'],
    [{ state: 'removed', heldEntries: 2 }, 'waiting', 'taken out of the configuration, 2 entries wait'],
  ])('%j is %s: %s', (change, verdict, words) => {
    expect(deviceVerdict(attachedDevice(change))).toMatchObject({ verdict, words });
  });

  it('says that nothing was delivered yet', () => {
    const { lastAcceptedAtMs: _last, ...device } = attachedDevice();
    expect(deviceVerdict(device).words).toBe('ready, nothing was delivered yet');
  });

  it('has a next step for each that is not well, with a name that can be typed', () => {
    for (const state of ['unidentified', 'provisioning', 'blocked'] as const)
      expect(deviceVerdict(attachedDevice({ state })).remedy).toMatch(/\w/);
    expect(deviceVerdict(attachedDevice({ state: 'blocked', name: "Anna's meter" })).remedy).toContain(
      "rotate 'Anna'\\''s meter'",
    );
    expect(deviceVerdict(attachedDevice()).remedy).toBeUndefined();
  });

  it.each([
    [undefined, /^enter the token that the platform has for it \(turnstone devices rotate meter-9\)/],
    ['file', /correct the token that its entry of devices: holds or names.*rotate meter-9$/],
    ['missing-file', /^put the file there that its entry of devices: names$/],
  ] as const)('mends the token of a blocked device where it stands: %s', (tokenIn, remedy) => {
    const told = deviceVerdict(attachedDevice({ name: 'meter-9', state: 'blocked', tokenIn }));
    expect(told.remedy).toMatch(remedy);
  });

  it('cuts a reason that is long', () => {
    expect(deviceVerdict(attachedDevice({ state: 'blocked', reason: 'x'.repeat(5_000) })).words.length).toBeLessThan(
      300,
    );
  });
});

describe('the summary of devices', () => {
  it('counts by state and puts the worst first', () => {
    const devices = [
      ...many(2),
      attachedDevice({ state: 'provisioning' }),
      attachedDevice({ state: 'blocked', heldEntries: 4 }),
    ];
    const summary = devicesSummary(devices);
    expect(summary).toMatchObject({
      total: 4,
      byState: { ready: 2, provisioning: 1, blocked: 1, removed: 0 },
      heldEntries: 4,
      acceptedEntries: 48,
    });
    expect(summary.list.map(({ state }) => state)).toEqual(['blocked', 'provisioning', 'ready', 'ready']);
    expect(summary.words).toBe('4: 1 blocked, 1 provisioning, 2 ready; 4 entries wait');
  });

  it('tells the worst 50 of more than 200, and keeps the order of those that are alike', () => {
    const summary = devicesSummary([...many(300), ...many(3, 'blocked')]);
    expect(summary.total).toBe(303);
    expect(summary.list.length).toBe(50);
    expect(summary.list.slice(0, 4).map(({ name }) => name)).toEqual(
      [0, 1, 2].map((at) => `gateway-7 blocked${at}`).concat('gateway-7 ready0'),
    );
    expect(toldDevices(many(300)).map(({ name }) => name)).toEqual(many(300).map(({ name }) => name));
  });

  it('stays bounded when every text is long', () => {
    const long = many(200, 'blocked').map((device) => ({
      ...device,
      reason: 'ä'.repeat(1_000),
      label: 'l'.repeat(255),
    }));
    const { list } = devicesSummary(long);
    expect(list.length).toBeGreaterThan(10);
    expect(Buffer.byteLength(JSON.stringify(list))).toBeLessThanOrEqual(32 * 1024 + 2);
  });
});

describe('alerts of devices', () => {
  it('tell of blocked ones alone, in the words of everything else', () => {
    const [blocked] = many(1, 'blocked');
    const summary = devicesSummary([
      ...many(3),
      attachedDevice({ state: 'provisioning' }),
      blocked ?? attachedDevice(),
    ]);
    expect(deviceAlerts(summary)).toEqual([
      expect.stringMatching(/^device gateway-7 blocked0: blocked: the platform refuses its token; enter the token/),
    ]);
  });

  it('stay the same while more and more waits', () => {
    const alertsWith = (heldEntries: number) =>
      deviceAlerts(devicesSummary([attachedDevice({ state: 'blocked', heldEntries })]));
    expect(alertsWith(5_000)).toEqual(alertsWith(0));
  });

  it('name five of many, and count the others', () => {
    const alerts = deviceAlerts(devicesSummary(many(120, 'blocked')));
    expect(alerts).toHaveLength(6);
    expect(alerts.at(-1)).toBe('115 more devices are blocked: turnstone devices tells which');
  });
});

it('tells a slot that reads the device of another as a fault, with what to do', () => {
  const shared = attachedDevice({ name: 'b', state: 'blocked', sharesWith: 'a', heldEntries: 3 });
  expect(deviceVerdict(shared)).toEqual({
    verdict: 'fault',
    words: 'reads the same serial number as a, 3 entries wait: its entries are kept',
    remedy: 'give the two slots different addresses, or take one of them out of the configuration',
  });
});

describe('the doctor on attached devices', () => {
  const look = (devices: readonly DeviceStatus[] | undefined) => {
    const agent = devices === undefined ? STATUS : { ...STATUS, devices: devicesSummary(devices) };
    // The check looks at the agent alone.
    return otherDevices.look({ agent } as unknown as CheckContext, new AbortController().signal);
  };

  it('finds nothing where there are none, and no fault where all is well', () => {
    expect(look(undefined)).toBeUndefined();
    expect(look(many(3))).toEqual({ verdict: 'good', reason: '3: 3 ready' });
  });

  it('calls a blocked one a fault, and tells a common cause once', () => {
    expect(look([...many(2), ...many(7, 'blocked')])).toMatchObject({
      verdict: 'fault',
      reason:
        'gateway-7 blocked0, gateway-7 blocked1, gateway-7 blocked2 and 4 more: blocked: the platform refuses its token',
      remedy: expect.stringContaining("turnstone devices rotate 'gateway-7 blocked0'"),
    });
  });

  it('tells two causes apart, each with who has it', () => {
    const copied = attachedDevice({ name: 'attic', state: 'blocked', reason: 'it is on two boards' });
    expect(look([...many(4, 'blocked'), copied])).toMatchObject({
      reason: expect.stringMatching(
        /^gateway-7 blocked0, .* and 1 more: blocked: .*; attic: blocked: it is on two boards$/,
      ),
    });
  });

  it('warns of one that waits for longer than half an hour, and not before', () => {
    const waits = (ms: number) => [
      attachedDevice({ state: 'provisioning', reason: 'no contact', sinceMs: NOW_MS - ms }),
    ];
    expect(look(waits(1_800_000))).toMatchObject({ verdict: 'good' });
    expect(look(waits(1_860_000))).toMatchObject({
      verdict: 'warning',
      reason: expect.stringContaining('no contact, for 31m'),
    });
  });
});

describe('metrics of devices', () => {
  const metrics = (devices?: readonly DeviceStatus[]) =>
    metricsOf({
      status: STATUS,
      view: VIEW,
      uploads: new UploadTimes(new FakeClock()).status(),
      openPages: 0,
      devices,
      process: { residentBytes: 1, heapUsedBytes: 1, cpuSeconds: 1 },
    });

  it('have a label for each of 200, and one for the rest together', () => {
    const samples =
      metrics([...many(200), ...many(50, 'blocked'), ...many(60)]).find(({ name }) => name === 'turnstone_device_up')
        ?.samples ?? [];
    expect(samples).toHaveLength(201);
    expect(samples.at(0)).toEqual({ labels: { device: 'gateway-7 ready0' }, value: 1 });
    expect(samples.at(-1)).toEqual({ labels: { device: 'other' }, value: 60 });
  });

  it('count what waits and what was taken', () => {
    const text = prometheusText(metrics([attachedDevice({ name: 'meter', state: 'blocked', heldEntries: 7 })]));
    for (const line of [
      'up{device="meter"} 0',
      'held_entries{device="meter"} 7',
      'accepted_entries_total{device="meter"} 12',
    ])
      expect(text).toContain(`turnstone_device_${line}\n`);
  });

  it('are absent without devices, and never telemetry of the gateway', () => {
    expect(prometheusText(metrics())).not.toContain('turnstone_device');
    const own = metrics(many(2)).filter(({ name }) => name.startsWith('turnstone_device'));
    expect(own.map((metric) => telemetryKey(metric))).toEqual([undefined, undefined, undefined]);
  });
});

describe('a status as a reply', () => {
  const readings = Array.from({ length: 10 }, (_, at) => ({
    key: `measuredValue${at}`,
    value: 1,
    unit: 'kWh',
    atMs: 1,
  }));
  const sensors = (count: number) =>
    Array.from({ length: count }, (_, at) => ({
      name: `meter${at}`,
      kind: 'modbus',
      state: 'ok' as const,
      device: `meter${at}`,
      readings,
    }));

  it('is whole while it fits', () => {
    const small = { ...STATUS, sensors: sensors(1), devices: devicesSummary(many(1)) };
    expect(shortStatus(small)).toEqual(small);
  });

  it('leaves out the readings of 200 devices, and keeps the devices', () => {
    const short = shortStatus({
      ...STATUS,
      sensors: sensors(200),
      devices: devicesSummary(many(100)),
    }) as unknown as AgentStatus;
    expect(Buffer.byteLength(JSON.stringify(short))).toBeLessThan(61_440);
    expect(short).toMatchObject({ shortened: true, devices: { total: 100 } });
    expect(short.devices?.list).toHaveLength(100);
  });

  it('stays below the bound with 1000 devices whose sensors all fail', () => {
    const failing = sensors(1_000).map((sensor) => ({ ...sensor, state: 'failing' as const, fault: 'nobody answers' }));
    const short = shortStatus({ ...STATUS, sensors: failing, devices: devicesSummary(many(1_000, 'blocked')) });
    expect(Buffer.byteLength(JSON.stringify(short))).toBeLessThan(61_440);
    expect(short).toMatchObject({ devices: { total: 1_000 } });
  });
});

import { describe, expect, it } from 'vitest';
import { platformStatus } from '../../../src/status/platform-status.ts';
import { agentStatus, namedSensors, type StatusSources } from '../../../src/status/status-of.ts';
import { attachedDevice } from '../../support/attached-device-status.ts';
import { drain, OutboxFixture } from '../../support/outbox-fixture.ts';

const REACHED = { state: 'reached', sinceMs: 0, lastHeardAtMs: 0, lastAcknowledgedAtMs: 0 } as const;

async function alertsWith(
  outbox: Partial<StatusSources['outbox']>,
  sensors: StatusSources['sensors'] = [],
  more: Partial<StatusSources['known']> = {},
): Promise<readonly string[]> {
  const fixture = await OutboxFixture.make();
  const opened = await fixture.open();
  await drain(opened);
  const known = { connection: { state: 'idle' }, timeSynchronised: true, wallMs: 0, ...more } as StatusSources['known'];
  const sources = {
    known,
    contact: REACHED,
    uploadIntervalMs: 0,
    outbox: { ...opened.status(), ...outbox },
    adapted: { renamed: 0, retimed: 0, asText: 0 },
  };
  const { alerts } = agentStatus({ ...sources, sensors, actuators: [], alerts: [] });
  await fixture.remove();
  return alerts;
}

describe('alerts of the outbox', () => {
  it('are none while all is well', async () => {
    expect(await alertsWith({})).toEqual([]);
  });

  it('say that the disk takes no readings', async () => {
    expect(await alertsWith({ fault: 'EIO' })).toEqual([expect.stringContaining('(EIO)')]);
  });

  it('say for how long the disk has not come back from a read', async () => {
    expect(await alertsWith({ hangingReadMs: 179_999 })).toEqual([expect.stringContaining('for 2 min')]);
  });

  it('say how many readings wait for a time, and why', async () => {
    expect(await alertsWith({ untimedEntries: 44 })).toEqual([
      expect.stringMatching(/^44 readings .*the clock was not right/),
    ]);
  });

  it('say that the outbox does not grow while the disk is short of space', async () => {
    expect(await alertsWith({ unreadSegments: 2 })).toEqual([expect.stringContaining('does not give back')]);
    expect(await alertsWith({ missingBytes: 1_000 })).toEqual([expect.stringContaining('outbox.minFree')]);
  });
});

it('the outbox says what was lost to damage, and when', async () => {
  const fixture = await OutboxFixture.make();
  const outbox = { ...(await fixture.open()).status(), damaged: 7, lastLost: { damaged: 1_700_000_000_000 } };
  const known = { connection: { state: 'idle' }, timeSynchronised: true, wallMs: 0 } as StatusSources['known'];
  const adapted = { renamed: 0, retimed: 0, asText: 0 };
  expect(
    agentStatus({
      known,
      contact: REACHED,
      uploadIntervalMs: 0,
      outbox,
      adapted,
      sensors: [],
      actuators: [],
      alerts: [],
    }).outbox,
  ).toMatchObject({
    damaged: 7,
    lastLost: { damaged: 1_700_000_000_000 },
  });
  await fixture.remove();
});

describe('alerts of the sensors', () => {
  const failing: StatusSources['sensors'][number] = {
    name: 'roof',
    kind: 'bme280',
    periodMs: 1_000,
    readings: [],
    reads: 1,
    failures: 3,
    missed: 0,
    refused: [],
    state: 'failing',
    error: { code: 'sensors/failed', message: 'no answer' },
    failingSinceMs: 1_000,
    lastReadAtMs: 400,
  };
  const at = (day: number, hour: number, minute: number): number => new Date(2026, 4, day, hour, minute).getTime();

  it('say since when one fails, by the local time, with the date of another day', async () => {
    const now = { nowMs: 61_000, wallMs: at(28, 14, 3) };
    expect(await alertsWith({}, [failing], now)).toEqual(['sensor roof fails since 14:02: no answer']);
    const old = { nowMs: 86_401_000, wallMs: at(29, 14, 2) };
    expect(await alertsWith({}, [failing], old)).toEqual(['sensor roof fails since 05-28 14:02: no answer']);
    const unsure = { ...now, timeSynchronised: false };
    expect(await alertsWith({}, [failing], unsure)).toContain('sensor roof fails: no answer');
  });

  it('have the time of the failure, and of the last reading before it; of others neither', () => {
    const { failingSinceMs: _, error: _error, ...others } = failing;
    const refused = [{ key: 'humidity', code: 'sensors/bad-reading', message: 'not measured' }];
    const partly = { ...others, state: 'working' as const, refused };
    const { lastReadAtMs: _last, ...silent } = failing;
    expect(
      namedSensors([failing, silent, partly]).map(({ failingSinceMs, lastReadMs }) => [failingSinceMs, lastReadMs]),
    ).toEqual([
      [1_000, 400],
      [1_000, undefined],
      [undefined, undefined],
    ]);
  });

  it('name the value that a working sensor leaves out', async () => {
    const base = { name: 'roof', kind: 'bme280', periodMs: 1_000, readings: [], reads: 1, failures: 0, missed: 0 };
    const refused = [{ key: 'humidity', code: 'sensors/bad-reading', message: 'not measured' }];
    expect(await alertsWith({}, [{ ...base, state: 'working', refused }])).toEqual([
      'sensor roof gives no humidity: not measured',
    ]);
    expect(await alertsWith({}, [{ ...base, state: 'working', refused: [] }])).toEqual([]);
    const late = ['power', 'voltage'].map((key) => ({
      key,
      code: 'hardware/deadline',
      message: 'the deadline was over',
    }));
    expect(await alertsWith({}, [{ ...base, state: 'working', refused: [...refused, ...late] }])).toEqual([
      'sensor roof gives no humidity: not measured; no power, voltage: the deadline was over',
    ]);
  });
});

it('says which device a sensor and an output are of, and raises an alert for a blocked one', async () => {
  const fixture = await OutboxFixture.make();
  const base = {
    kind: 'modbus',
    periodMs: 1_000,
    readings: [],
    refused: [],
    reads: 1,
    failures: 0,
    missed: 0,
    state: 'working' as const,
  };
  const actuator = { kind: 'gpio-output', value: true };
  const seen = agentStatus({
    known: { connection: { state: 'idle' }, timeSynchronised: true, wallMs: 0 } as StatusSources['known'],
    contact: REACHED,
    uploadIntervalMs: 0,
    outbox: (await fixture.open()).status(),
    adapted: { renamed: 0, retimed: 0, asText: 0 },
    sensors: ['power', 'machine'].map((name) => ({ ...base, name })),
    actuators: ['valve', 'fan'].map((name) => ({ ...actuator, name })) as unknown as StatusSources['actuators'],
    config: {
      sensors: [
        { name: 'power', device: 'meter1', keys: {} },
        { name: 'machine', keys: {} },
      ],
      actuators: [{ name: 'valve', device: 'meter2' }],
    },
    devices: [attachedDevice(), attachedDevice({ name: 'gateway-7 meter2', state: 'blocked' })],
    alerts: [],
  });
  expect(seen.sensors.map(({ device }) => device)).toEqual(['meter1', undefined]);
  expect(seen.actuators.map(({ device }) => device)).toEqual(['meter2', undefined]);
  expect(seen.devices).toMatchObject({ total: 2, byState: { ready: 1, blocked: 1 } });
  expect(seen.alerts).toEqual([expect.stringMatching(/^device gateway-7 meter2: blocked/)]);
  await fixture.remove();
});

it('is up to date only when what attached devices share is, too', async () => {
  const fixture = await OutboxFixture.make();
  const opened = await fixture.open();
  await drain(opened);
  const seen = (devicesOutbox: StatusSources['devicesOutbox']) =>
    agentStatus({
      known: { connection: { state: 'idle' }, timeSynchronised: true, wallMs: 3_600_000 } as StatusSources['known'],
      contact: REACHED,
      uploadIntervalMs: 0,
      outbox: opened.status(),
      adapted: { renamed: 0, retimed: 0, asText: 0 },
      sensors: [],
      actuators: [],
      devices: [attachedDevice()],
      devicesOutbox,
      alerts: [],
    });
  const shared = { waitingEntries: 0, apartEntries: 0, lostEntries: 0, connection: { state: 'idle' } } as const;
  expect(seen(shared).platform.words).toBe('up to date');
  expect(seen({ ...shared, waitingEntries: 7, oldestMs: 0 }).platform.words).toContain(
    '7 entries wait, the oldest for 1h',
  );
  expect(seen({ ...shared, waitingEntries: 1, apartEntries: 446, oldestMs: 0 }).platform).toMatchObject({
    verdict: 'waiting',
    words: 'the platform is reached, 447 entries wait, the oldest for 1h',
  });
  expect(seen({ ...shared, apartEntries: 2, oldestMs: 3_590_000 }).platform.words).toBe('up to date');
  expect(
    seen({ ...shared, connection: { state: 'backing-off', reason: 'they are being provisioned' } }).platform,
  ).toMatchObject({
    verdict: 'waiting',
    words: 'the platform is reached, and readings are kept: they are being provisioned',
  });
  const lost = seen({ ...shared, lostEntries: 3, fault: 'ENOSPC' });
  expect(lost.devices?.words).toContain('3 entries were lost');
  expect(lost.outbox.fault).toBe('ENOSPC');
  await fixture.remove();
});

it.each([
  [
    'readings-at-wakes',
    'the platform is reached, and readings go at wakes, history waits for the month of the link, until 1970-02-01Z or until it suffices again',
  ],
  [
    'alarms-only',
    'the platform is reached, and all but alarms waits for the month of the link, until 1970-02-01Z or until it suffices again',
  ],
  ['commands-at-wakes', 'up to date'],
] as const)('tells what waits for the month of the link: %s', (step, words) => {
  const link = { step, endsAtMs: 31 * 86_400_000 };
  const seen = {
    contact: REACHED,
    connection: { state: 'idle' },
    outbox: { heldEntries: 7, oldestTs: 0 },
    wallMs: 0,
  } as const;
  expect(platformStatus({ ...seen, uploadIntervalMs: 0, link }).words).toBe(words);
  expect(platformStatus({ ...seen, outbox: { heldEntries: 0 }, uploadIntervalMs: 0, link }).words).toBe('up to date');
  const held = {
    ...seen,
    wallMs: 3_600_000,
    uploadIntervalMs: 0,
  };
  const wordsFor = (historyWaitsFor: 'tomorrow' | 'forecast'): string =>
    platformStatus({ ...held, link: { step: 'everything', endsAtMs: 0, historyWaitsFor } }).words;
  expect(wordsFor('forecast')).toContain('the oldest for 1h: history goes when the forecast of the link leaves room');
  expect(wordsFor('tomorrow')).toContain('the oldest for 1h: history goes tomorrow (UTC), as link.daily is used up');
});

it.each(['EROFS, rename /state/credentials.json', 'the disk does not answer'])(
  'tells why nothing is asked of a platform that is reached: %s',
  (silence) => {
    const seen = {
      contact: REACHED,
      connection: { state: 'idle' },
      outbox: { heldEntries: 0 },
      wallMs: 0,
      uploadIntervalMs: 0,
    } as const;
    expect(platformStatus({ ...seen, silence })).toMatchObject({
      verdict: 'fault',
      words: `nothing is asked of the platform: ${silence}`,
    });
    expect(platformStatus(seen).verdict).toBe('good');
  },
);

it('tells alarms that are on, the oldest first, each with the outputs that follow a rule on its value now', async () => {
  const fixture = await OutboxFixture.make();
  const alarm = {
    sensor: 'room',
    key: 'roomTemperature',
    name: 'hot',
    above: 30,
    limit: 'above 30',
    value: 31,
  };
  const rule = (name: string, key: string, actuator: string) => ({
    name,
    when: { sensor: 'room', key, above: 30 },
    set: { actuator, value: true },
  });
  const output = (name: string, leader: string | undefined) => ({
    name,
    kind: 'gpio-output',
    value: true,
    why: 'on',
    slots: [leader === undefined ? { slot: 'operator', value: true } : { slot: 'rule', value: true, rule: leader }],
  });
  const seen = agentStatus({
    known: { connection: { state: 'idle' }, timeSynchronised: true, wallMs: 0 } as StatusSources['known'],
    contact: REACHED,
    uploadIntervalMs: 0,
    outbox: (await fixture.open()).status(),
    adapted: { renamed: 0, retimed: 0, asText: 0 },
    sensors: [],
    actuators: [
      output('fan', 'coolIt'),
      output('hatch', undefined),
      output('pump', 'wet'),
    ] as unknown as StatusSources['actuators'],
    config: {
      sensors: [{ name: 'room', device: 'house', keys: {} }],
      actuators: [],
      rules: [
        rule('coolIt', 'roomTemperature', 'fan'),
        rule('openIt', 'roomTemperature', 'hatch'),
        rule('wet', 'roomHumidity', 'pump'),
      ] as never,
    },
    alarms: [
      { ...alarm, reading: 'temperature', sinceMs: 500 },
      { ...alarm, reading: 'humidity', key: 'roomHumidity', sinceMs: 400 },
    ],
    alerts: [],
  });
  expect(seen.alarms).toEqual([
    { ...alarm, key: 'roomHumidity', device: 'house', sinceMs: 400, moves: ['pump'] },
    { ...alarm, device: 'house', sinceMs: 500, moves: ['fan'] },
  ]);
  expect(seen.actuators[0]?.slots).toEqual([{ slot: 'rule', value: true, rule: 'coolIt' }]);
  await fixture.remove();
});

it('calls sensors, readings, outputs, alarms and rules as the configuration does, each with its class', async () => {
  const fixture = await OutboxFixture.make();
  const reading = (key: string, unit?: string) => ({ key, value: 1, unit, monotonicMs: 0 });
  const base = { kind: 'bme280', periodMs: 1_000, refused: [], reads: 1, failures: 0, missed: 0, state: 'working' };
  const output = {
    name: 'fan',
    kind: 'gpio-output',
    value: true,
    slots: [{ slot: 'rule', value: true, rule: 'cool' }],
  };
  const alarm = { sensor: 'roof', reading: 'temperature', name: 'hot', limit: 'above 30', value: 31, sinceMs: 0 };
  const seen = agentStatus({
    known: { connection: { state: 'idle' }, timeSynchronised: true, wallMs: 0 } as StatusSources['known'],
    contact: REACHED,
    uploadIntervalMs: 0,
    outbox: (await fixture.open()).status(),
    adapted: { renamed: 0, retimed: 0, asText: 0 },
    sensors: [
      { ...base, name: 'roof', readings: [reading('temperature', '°C'), reading('humidity', '%')] },
      { ...base, name: 'door', readings: [reading('state')] },
      { ...base, name: 'hall', readings: [reading('temperature_mean', '°C'), reading('temperature_count', '°C')] },
    ] as unknown as StatusSources['sensors'],
    actuators: [output] as unknown as StatusSources['actuators'],
    config: {
      label: 'Boiler house',
      sensors: [
        { name: 'roof', label: 'Weather', keys: { temperature: { label: 'Air', unit: '°F' } as never } },
        { name: 'door', class: 'door', keys: {} },
        {
          name: 'hall',
          keys: { temperature: { label: 'Hall' } as never },
          window: { lengthMs: 1_000, statistics: ['mean', 'count'] },
        },
      ],
      actuators: [{ name: 'fan', label: 'Big fan', class: 'fan' }],
      rules: [{ name: 'cool', label: 'Cool it', set: { actuator: 'fan', value: true } }],
    },
    alarms: [{ ...alarm, key: 'roofTemperature', label: 'Hot roof' }],
    alerts: [],
  });
  await fixture.remove();
  const named = seen.sensors.map(({ label, readings }) => [label, ...readings.map((one) => [one.label, one.class])]);
  expect([seen.label, ...named]).toEqual([
    'Boiler house',
    ['Weather', ['Air', 'temperature'], [undefined, 'humidity']],
    [undefined, [undefined, 'door']],
    [undefined, ['Hall mean', 'temperature'], ['Hall count', 'count']],
  ]);
  expect(seen.actuators).toMatchObject([
    { label: 'Big fan', class: 'fan', slots: [{ rule: 'cool', label: 'Cool it' }] },
  ]);
  expect(seen.alarms).toMatchObject([{ label: 'Hot roof', keyLabel: 'Air', class: 'temperature', unit: '°F' }]);
});

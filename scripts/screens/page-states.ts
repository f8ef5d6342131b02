/** States of the status page for its pictures, each as a status that an agent could tell. */
import type { PageFacts } from '../../src/page-server/page-facts.ts';
import type { StatusServerDeps } from '../../src/page-server/page-server.ts';
import { devicesSummary } from '../../src/status/shape/device-status.ts';
import type { StatusView } from '../../src/status/status-view.ts';
import { attachedDevice } from '../../test/support/attached-device-status.ts';
import { type StatusBench, workingView } from '../../test/support/status-bench.ts';

type Reading = StatusView['sensors'][number]['readings'][number];
type View = StatusBench['view'];

const METERS = 23;
const DEVICES = 12;
const HUNDRED = 100;
/** Sensors of the gateway itself beside a hundred devices. */
const OWN_METERS = 26;
/** Middles of made-up values; the cold room's cross its limit. */
const MIDDLES: Readonly<Record<string, number>> = {
  coldRoomTemperature: 4.5,
  roofPressure: 1_012,
  tankLevel: 38,
  boilerTemperature: 61,
  pvPower: 1_230,
  pvTemperature: 37,
  coldRoomHumidity: 81,
};
export const PAGE_FACTS: PageFacts = {
  mayControl: true,
  sensors: {
    coldRoom: {
      source: 'I2C bus 1, address 0x44',
      periodMs: 10_000,
      readings: {
        coldRoomTemperature: {
          isReported: true,
          deadband: 0.1,
          alarms: [{ name: 'tooWarm', limit: 'above 5', above: 5, hysteresis: 0.5 }],
        },
      },
    },
  },
  outputs: {},
};

/** Values of one key as a line with a swing, so that pictures show more than two points. */
export const swingingSeries: StatusServerDeps['series'] = async ({ keys, fromMs, toMs }) =>
  Object.fromEntries(
    keys.map((key, number) => {
      const at = number + key.length;
      const times = Array.from({ length: 80 }, (_, index) => fromMs + ((toMs - fromMs) * index) / 80);
      return [
        key,
        [
          times,
          times.map(
            (_, index) =>
              (MIDDLES[key] ?? 20) + 3 * Math.sin((index + 7 * at) / (4 + (at % 5))) + Math.sin(index * 1.3 + at),
          ),
        ] as const,
      ];
    }),
  );

/** An old span: its values are a least and a greatest one. */
const bandSeries: StatusServerDeps['series'] = async (query, signal) => {
  const series = await swingingSeries(query, signal);
  const band = ([times, values]: (typeof series)[string]) =>
    [times, values.map((one) => one - 1.5), values.map((one) => one + 1)] as const;
  return Object.fromEntries(Object.entries(series).map(([key, one]) => [key, band(one)]));
};

/** Values with a hole, and a door that is open now and then. */
const brokenSeries: StatusServerDeps['series'] = async (query, signal) => {
  const series = await swingingSeries(query, signal);
  const isKept = (at: number): boolean => at < 42 || at > 52;
  return Object.fromEntries(
    Object.entries(series).map(([key, [times, values]]) => {
      const shown = key === 'doorOpen' ? values.map((_, at) => Number(at % 23 > 15)) : values;
      return [key, [times.filter((_, at) => isKept(at)), shown.filter((_, at) => isKept(at))] as const];
    }),
  );
};

function warmColdRoom(nowMs: number): StatusView['alarms'][number] {
  return {
    sensor: 'coldRoom',
    key: 'coldRoomTemperature',
    unit: '°C',
    name: 'tooWarm',
    limit: 'above 5',
    above: 5,
    value: 7.2,
    sinceMs: nowMs - 840_000,
    moves: ['compressor'],
  };
}

export const PAGE_STATES: Readonly<Record<string, View>> = {
  calm: siteView(() => ({})),
  alarm: siteView(({ nowMs }) => ({
    alarms: [warmColdRoom(nowMs)],
  })),
  'no-contact': siteView(({ nowMs, platform, outbox }) => ({
    platform: {
      ...platform,
      state: 'lost' as const,
      verdict: 'fault' as const,
      sinceMs: nowMs - 5_400_000,
      words: 'no name server knows iot.exmple.org: look at platform.url, or at the spelling',
    },
    outbox: { ...outbox, heldEntries: 1_204, heldBytes: 91_000 },
    alerts: ['no name server knows iot.exmple.org: look at platform.url, or at the spelling'],
  })),
  lockout: siteView(() => ({ lockedOut: true })),
  fault: siteView(({ sensors }) => ({
    sensors: sensors.map((sensor) =>
      sensor.name === 'roof'
        ? { ...sensor, state: 'failing', fault: 'no answer at 0x76: is it connected?', readings: [] }
        : sensor,
    ),
    alerts: ['sensor roof fails: no answer at 0x76: is it connected?'],
  })),
  empty: siteView(() => ({ sensors: [], actuators: [] })),
  'first-boot': siteView(({ sensors, platform, nowMs, connection }) => {
    const { lastAcknowledgedAtMs: _last, ...unacknowledged } = platform;
    return {
      deviceName: '',
      startedAtMs: nowMs - 8_000,
      provisioning: { phase: 'none' },
      connection: { ...connection, acknowledgedEntries: 0 },
      platform: {
        ...unacknowledged,
        state: 'never-reached' as const,
        verdict: 'waiting' as const,
        words: 'asks the platform for credentials',
      },
      sensors: sensors.filter(({ kind }) => kind === 'host'),
      actuators: [],
    };
  }),
  '120-keys': siteView(({ sensors, nowMs }) => ({
    sensors: [...sensors, ...Array.from({ length: METERS }, (_, at) => meter(at + 1, nowMs))],
  })),
  'hundred-devices': siteView(({ sensors, nowMs }) => ({
    sensors: [
      ...sensors,
      ...Array.from({ length: OWN_METERS }, (_, at) => zone(at + 1, nowMs)),
      ...Array.from({ length: HUNDRED }, (_, at) => ({ ...meter(at + 1, nowMs), device: `meter${at + 1}` })),
    ],
    devices: devicesSummary(
      Array.from({ length: HUNDRED }, (_, at) =>
        attachedDevice({
          name: `Greenhouse 7 meter ${at + 1}`,
          slots: [`meter${at + 1}`],
          sinceMs: nowMs - 7_200_000,
          lastAcceptedAtMs: nowMs - 1_000 * (at % 9),
          ...(at === 6 ? { state: 'blocked' as const, reason: 'it was deleted there', heldEntries: 312 } : {}),
        }),
      ),
    ),
  })),
  'alarm-without-platform': siteView(({ nowMs, platform, outbox }) => ({
    alarms: [warmColdRoom(nowMs)],
    platform: {
      ...platform,
      state: 'lost' as const,
      verdict: 'fault' as const,
      sinceMs: nowMs - 5_400_000,
      words: 'no name server knows iot.exmple.org: look at platform.url, or at the spelling',
    },
    outbox: { ...outbox, heldEntries: 1_204, heldBytes: 91_000 },
    alerts: ['no name server knows iot.exmple.org: look at platform.url, or at the spelling'],
  })),
  'many-devices': siteView(({ sensors, nowMs }) => ({
    sensors: [
      ...sensors,
      ...Array.from({ length: DEVICES }, (_, at) => ({ ...meter(at + 1, nowMs), device: `meter${at + 1}` })),
    ],
    devices: devicesSummary(
      Array.from({ length: DEVICES }, (_, at) =>
        attachedDevice({
          name: `Greenhouse 7 meter ${at + 1}`,
          slots: [`meter${at + 1}`],
          sinceMs: nowMs - 7_200_000,
          lastAcceptedAtMs: nowMs - 1_000,
          ...(at === 6 ? { state: 'blocked' as const, reason: 'it was deleted there', heldEntries: 312 } : {}),
        }),
      ),
    ),
  })),
};

/** Names as somebody gives them who writes from right to left. */
export const RIGHT_TO_LEFT: View = siteView(({ nowMs, sensors, actuators }) => {
  const one = readingAt(nowMs);
  return {
    deviceName: 'البيت الزجاجي ٧',
    sensors: [
      {
        ...ok('غرفة_التبريد', 'sht3x'),
        readings: [one('غرفة_التبريد.حرارة', 7.2, '°C'), one('غرفة_التبريد.رطوبة', 81, '%')],
      },
      ...sensors.slice(1),
    ],
    actuators: actuators.map((output) => (output.name === 'pump' ? { ...output, name: 'مضخة' } : output)),
    alarms: [
      {
        sensor: 'غرفة_التبريد',
        key: 'غرفة_التبريد.حرارة',
        unit: '°C',
        name: 'حار',
        above: 5,
        limit: 'above 5',
        value: 7.2,
        sinceMs: nowMs - 840_000,
        moves: ['مضخة', 'compressor'],
      },
    ],
  };
});

/** Pictures of the plot: what is asked for, and the keys in it, the first of which is pressed. */
export const PLOT_STATES: Readonly<
  Record<string, { readonly series: StatusServerDeps['series']; readonly keys: readonly string[] }>
> = {
  band: { series: bandSeries, keys: ['tankLevel'] },
  'two-keys': { series: swingingSeries, keys: ['roofTemperature', 'roofPressure'] },
  limit: { series: brokenSeries, keys: ['coldRoomTemperature'] },
  switch: { series: brokenSeries, keys: ['doorOpen'] },
  'with-switch': { series: brokenSeries, keys: ['coldRoomTemperature', 'doorOpen'] },
};

/** A site with what a picture needs, and a change of it. */
function siteView(change: (view: StatusView) => Partial<StatusView>): View {
  return (nowMs, wallMs) => {
    const view: StatusView = {
      ...workingView(nowMs, wallMs),
      deviceName: 'Greenhouse 7',
      sensors: sensorsOfSite(nowMs),
      actuators: outputs(),
    };
    return { ...view, ...change(view) };
  };
}

function sensorsOfSite(nowMs: number): StatusView['sensors'] {
  const one = readingAt(nowMs);
  return [
    { ...ok('coldRoom', 'sht3x'), readings: [one('coldRoomTemperature', 7.2, '°C'), one('coldRoomHumidity', 81, '%')] },
    {
      ...ok('roof', 'bme280'),
      readings: [one('roofTemperature', 21.4, '°C'), one('roofPressure', 1012.7, 'hPa'), one('doorOpen', true)],
    },
    { ...ok('tank', 'ads1115'), readings: [one('tankLevel', 38, '%')] },
    {
      ...ok('machine', 'host'),
      readings: [
        ...[
          one('cpuPercent', 12.4, '%'),
          one('memoryUsedPercent', 31, '%'),
          one('memoryAvailableBytes', 2_100_000_000, 'By'),
        ],
        ...[one('networkReceivedBytes', 1_400_000_000, 'By'), one('diskUsedPercent', 17, '%')],
      ],
    },
  ];
}

function zone(number: number, nowMs: number): StatusView['sensors'][number] {
  const one = readingAt(nowMs);
  return {
    ...ok(`zone${number}`, 'ds18b20'),
    readings: [one(`zone${number}Temperature`, 14 + ((number * 37) % 90) / 10, '°C')],
  };
}

function meter(number: number, nowMs: number): StatusView['sensors'][number] {
  const one = readingAt(nowMs);
  return {
    ...ok(`meter${number}`, 'modbus'),
    readings: [
      ...[
        one(`m${number}.activePower`, (137 * number) % 4_000, 'W'),
        one(`m${number}.voltageL1L2`, 398 + (number % 5), 'V'),
      ],
      ...[one(`m${number}.importedEnergyTotal`, 12_000 + 731 * number, 'kWh'), one(`m${number}.powerFactor`, 0.93)],
      one(`m${number}.frequency`, 50.01, 'Hz'),
    ],
  };
}

const ok = (name: string, kind: string) => ({ name, kind, state: 'ok' as const });

function readingAt(nowMs: number) {
  return (key: string, value: Reading['value'], unit?: string): Reading => ({
    key,
    value,
    atMs: nowMs - 3_000,
    ...(unit === undefined ? {} : { unit }),
  });
}

function outputs(): StatusView['actuators'] {
  return [
    {
      name: 'pump',
      kind: 'gpio-output',
      value: false,
      why: 'off, because rule dryRun set it 14 min ago',
      slots: [
        { slot: 'protect', value: false, rule: 'dryRun', sinceS: 840 },
        { slot: 'operator', value: true, by: 'rpc', sinceS: 1_200 },
      ],
    },
    {
      name: 'compressor',
      kind: 'modbus-write',
      value: true,
      why: 'on, because rule coolTheRoom set it 14 min ago',
      slots: [{ slot: 'rule', value: true, rule: 'coolTheRoom', sinceS: 840 }],
    },
    {
      name: 'gardenValveNorthWestCorner',
      kind: 'gpio-output',
      value: true,
      why: 'on, because the operator (rpc) said so 3 min ago, for 1h57m more',
      slots: [
        { slot: 'operator', value: true, by: 'rpc', sinceS: 180 },
        { slot: 'base', value: false },
      ],
    },
  ];
}

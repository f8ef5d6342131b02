/**
 * A made-up greenhouse with a bad night behind it, whose answers are known: a sensor is silent, the tank is nearly empty, an alarm is on, a device
 * waits, an update waits, a claim is open. Pictures and trials of the page show it.
 */
import { refusal } from '../../src/errors/agent-error.ts';
import { systemClock } from '../../src/host/clock.ts';
import type { PageFacts } from '../../src/page-server/page-facts.ts';
import { devicesSummary } from '../../src/status/shape/device-status.ts';
import type { StatusView } from '../../src/status/status-view.ts';
import type { TimelineEvent } from '../../src/timeline/event.ts';
import { isJsonObject, type JsonObject } from '../../src/values/json.ts';
import { attachedDevice } from './attached-device-status.ts';
import { StatusBench, workingView } from './status-bench.ts';

type Sensor = StatusView['sensors'][number];
type Output = StatusView['actuators'][number];
type Place = 'sensor' | 'key' | 'actuator';

export const GREENHOUSE_PIN = '471199';
const DEVICES = 12;
const HOUR_MS = 3_600_000;
/** A made-up code of the size of a real one. */
const CODE = Array.from({ length: 29 }, (_, row) =>
  Array.from({ length: 29 }, (__, at) => Number((row * 31 + at * 17 + row * at) % 7 < 3)).join(''),
);
const LIMITS = {} as PageFacts['outputs'][string]['limits'];
const ON_OFF = { valueType: 'boolean', limits: LIMITS, operatorUntil: 'ruleChange', interlocks: [] } as const;

export interface AskedOperation {
  readonly name: string;
  readonly params: JsonObject;
}

export class Greenhouse {
  readonly bench: StatusBench;
  /** What the page asked for. */
  readonly asked: AskedOperation[] = [];
  #pump = false;
  #isAcknowledged = false;
  #pumpForS = 0;
  #acknowledgedAtMs = 0;
  #pumpAtMs = 0;
  #night: readonly TimelineEvent[] = [];

  private constructor(bench: StatusBench) {
    this.bench = bench;
  }

  static async open(port = 0): Promise<Greenhouse> {
    const bench = await StatusBench.open({ pin: GREENHOUSE_PIN, port });
    await bench.stop();
    const site = new Greenhouse(bench);
    bench.operations = { operations: new Map(), ask: async (name, params) => site.#answer(name, params as JsonObject) };
    await bench.start();
    const openedMs = systemClock.monotonicMs();
    bench.view = (nowMs, wallMs) => site.#view(nowMs, wallMs, openedMs);
    bench.facts = FACTS;
    site.#night = nightOf(systemClock.wallMs());
    bench.events = site.#night;
    bench.claim = async () => ({
      secretKey: 'KQ7MV-2HXDR',
      untilMs: Date.now() + 9 * 60_000,
      code: CODE,
    });
    return site;
  }

  #answer(name: string, params: JsonObject): JsonObject {
    this.asked.push({ name, params });
    if (name === 'acknowledgeAlarm') {
      this.#isAcknowledged = true;
      this.#acknowledgedAtMs = systemClock.wallMs();
      this.#tell('alarm', 'Somebody on the page acknowledged Cold room too warm.');
    } else if (name === 'setActuator' && params.name === 'pump') {
      this.#pump = params.value === true;
      this.#pumpAtMs = systemClock.monotonicMs();
      this.#tell('command', `Somebody on the page set Irrigation pump: it is ${this.#pump ? 'running' : 'stopped'}.`);
    } else if (name === 'releaseActuator') {
      this.#pump = false;
      this.#tell('command', 'Somebody on the page released Irrigation pump: it is stopped.');
    } else throw refusal('actuators/interlock', 'the greenhouse has one pump');
    this.#pumpForS = params.for === '2h' ? 7_200 : 0;
    return isJsonObject(params) ? params : {};
  }

  #tell(kind: TimelineEvent['kind'], words: string): void {
    const { events } = this.bench;
    this.bench.events = [...events, { seq: events.length + 1, ts: systemClock.wallMs(), kind, words }];
  }

  #view(nowMs: number, wallMs: number, openedMs: number): StatusView {
    const base = workingView(nowMs, wallMs);
    const [restart] = this.#night.filter(({ kind }) => kind === 'start');
    return {
      ...base,
      label: 'Greenhouse Dornbach',
      deviceName: 'gw-dornbach-7',
      startedAtMs: nowMs - (wallMs - (restart?.ts ?? wallMs)),
      timelineSeq: this.bench.events.length,
      outbox: { ...base.outbox, heldEntries: 0, heldBytes: 0 },
      link: {
        ...base.link,
        usedBytes: 31_200_000,
        monthlyBytes: 50_000_000,
        todayBytes: 1_100_000,
        forecastBytes: 56_100_000,
        words: '31.2 MB of 50.0 MB this month',
      },
      firmware: {
        ...base.firmware,
        version: '1.2.3',
        state: 'VERIFIED',
        offered: 'turnstone 1.4.0',
        error: 'the update to turnstone 1.4.0 waits: something attached is being updated',
      },
      alarms: [
        {
          sensor: 'coldRoom',
          key: 'coldRoomTemperature',
          unit: '°C',
          class: 'temperature',
          name: 'tooWarm',
          label: 'Cold room too warm',
          limit: 'above 5',
          above: 5,
          value: 7.2,
          sinceMs: openedMs - 14 * 60_000,
          moves: [],
          ...(this.#isAcknowledged && { acknowledged: { by: 'page' as const, atMs: this.#acknowledgedAtMs } }),
        },
      ],
      alerts: [
        'sensor roof fails: no answer at 0x76: is it connected?',
        'the update to turnstone 1.4.0 waits: something attached is being updated',
      ],
      sensors: [...ownSensors(nowMs, openedMs), ...meters(nowMs)],
      actuators: this.#outputs(wallMs, nowMs),
      devices: devicesSummary(devices(nowMs)),
    };
  }

  #outputs(wallMs: number, nowMs: number): readonly Output[] {
    const [dry] = this.#night.filter(({ kind, actuator }) => kind === 'rule' && actuator === 'pump');
    const dryS = Math.round((wallMs - (dry?.ts ?? wallMs)) / 1_000);
    const pump = this.#pump
      ? {
          value: true,
          why: `on, because the operator (local) said so${this.#pumpForS === 0 ? '' : ', for 2 h'}`,
          slots: [
            { slot: 'operator', value: true, by: 'local', sinceS: Math.round((nowMs - this.#pumpAtMs) / 1_000) },
            { slot: 'rule', value: false, rule: 'dryRun', label: 'Tank too low', sinceS: dryS },
          ] as const,
        }
      : {
          value: false,
          why: 'off, because of the rule Tank too low',
          slots: [{ slot: 'rule', value: false, rule: 'dryRun', label: 'Tank too low', sinceS: dryS }] as const,
        };
    return [
      { name: 'pump', label: 'Irrigation pump', class: 'pump', kind: 'gpio-output', ...pump },
      {
        name: 'frost',
        label: 'Frost heater',
        class: 'heater',
        kind: 'gpio-output',
        value: true,
        why: 'on, because of the rule Frost protection',
        slots: [{ slot: 'rule', value: true, rule: 'frost', label: 'Frost protection', sinceS: 1_800 }],
      },
      {
        name: 'lamp',
        label: 'Light at the door',
        class: 'light',
        kind: 'gpio-output',
        value: false,
        why: 'off, its state for the start',
        slots: [{ slot: 'base', value: false }],
      },
    ];
  }
}

export const FACTS: PageFacts = {
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
  outputs: { pump: ON_OFF, frost: ON_OFF, lamp: ON_OFF },
};

function ownSensors(nowMs: number, openedMs: number): readonly Sensor[] {
  const one = readingAt(nowMs);
  return [
    {
      name: 'coldRoom',
      label: 'Cold room',
      kind: 'sht3x',
      state: 'ok',
      readings: [one('coldRoomTemperature', 7.24, '°C'), one('coldRoomHumidity', 81.3, '%')],
    },
    {
      name: 'boiler',
      label: 'Boiler',
      kind: 'ds18b20',
      state: 'ok',
      readings: [one('boilerTemperature', 61.31, '°C')],
    },
    {
      name: 'roof',
      label: 'Roof',
      kind: 'bme280',
      state: 'failing',
      fault: 'no answer at 0x76: is it connected?',
      failingSinceMs: openedMs - 3 * HOUR_MS,
      readings: [],
    },
    { name: 'tank', label: 'Tank', kind: 'ads1115', state: 'ok', readings: [one('tankLevel', 6.2, '%')] },
    {
      name: 'door',
      label: 'Door',
      kind: 'gpio-input',
      state: 'ok',
      readings: [{ key: 'door', value: true, class: 'door', atMs: nowMs - 2_000 }],
    },
    {
      name: 'pv',
      label: 'Solar',
      kind: 'modbus',
      state: 'ok',
      readings: [
        one('pvPower', 1_234, 'W'),
        one('pvEnergyTotal', 12_731.4, 'kWh'),
        one('pvVoltage', 612.4, 'V'),
        one('pvTemperature', 38.2, '°C'),
      ],
    },
    {
      name: 'machine',
      kind: 'host',
      state: 'ok',
      readings: [
        one('cpuPercent', 12.4, '%'),
        one('memoryAvailableBytes', 2_100_000_000, 'By'),
        one('diskUsedPercent', 17, '%'),
      ],
    },
  ];
}

function meters(nowMs: number): readonly Sensor[] {
  const one = readingAt(nowMs);
  return Array.from({ length: DEVICES }, (_, at) => ({
    name: `meter${at + 1}`,
    kind: 'modbus',
    state: 'ok' as const,
    device: `meter${at + 1}`,
    readings: [one('activePower', 137 * (at + 1), 'W'), one('importedEnergyTotal', 12_000 + 731 * at, 'kWh')],
  }));
}

function devices(nowMs: number): Parameters<typeof devicesSummary>[0] {
  return Array.from({ length: DEVICES }, (_, at) =>
    attachedDevice({
      name: `gw-dornbach-7 meter${at + 1}`,
      label: `Tenant ${at + 1}`,
      slots: [`meter${at + 1}`],
      sinceMs: nowMs - 7_200_000,
      lastAcceptedAtMs: nowMs - 1_000 * (at + 1),
      ...(at === 6 ? { isBehind: true, heldEntries: 312, lastAcceptedAtMs: nowMs - 2 * HOUR_MS } : {}),
    }),
  );
}

function readingAt(nowMs: number) {
  return (key: string, value: number, unit: string): Sensor['readings'][number] => ({
    key,
    value,
    unit,
    atMs: nowMs - 3_000,
  });
}

type Told = readonly [time: string, kind: TimelineEvent['kind'], words: string, facts?: Partial<Record<Place, string>>];

/** Times of the last night that is over, local. */
const NIGHT: readonly Told[] = [
  ['21:10', 'command', 'Somebody on the page set Light at the door: it is on.', { actuator: 'lamp' }],
  ['21:40', 'command', 'Somebody on the page set Light at the door: it is off.', { actuator: 'lamp' }],
  [
    '01:12',
    'rule',
    'The rule Frost protection switched Frost heater on: roof temperature was below 3 °C.',
    { actuator: 'frost' },
  ],
  ['02:31', 'contact', 'The platform is reached again: it was not from 01:43 on, as the name server did not answer.'],
  ['03:05', 'rule', 'The rule Tank too low switched Irrigation pump off: tank level was 9.8 %.', { actuator: 'pump' }],
  ['05:20', 'start', 'The agent started again after a power cut.'],
];

/** Hour of the local morning from which last night's events all lie behind. */
const NIGHT_OVER_AT_HOUR = 6;

function nightOf(wallMs: number): readonly TimelineEvent[] {
  const morning = new Date(wallMs);
  morning.setDate(morning.getDate() - (morning.getHours() < NIGHT_OVER_AT_HOUR ? 1 : 0));
  return NIGHT.map(([time, kind, words, facts = {}], at) => {
    const [hours = 0, minutes = 0] = time.split(':').map(Number);
    const day = morning.getDate() - (hours > 12 ? 1 : 0);
    const ts = new Date(morning.getFullYear(), morning.getMonth(), day, hours, minutes).getTime();
    return { seq: at + 1, ts, kind, words, ...facts };
  });
}

/** Status of a gateway with many sensors, outputs and attached devices, some of them in trouble. */
import type { ActuatorStatus, AgentStatus, AlarmStatus, SensorStatus } from '../../src/status/shape/agent-status.ts';
import { deviceAlerts, devicesSummary } from '../../src/status/shape/device-status.ts';
import { attachedDevice } from './attached-device-status.ts';

const KINDS = ['modbus', 'mbus', 'ds18b20', 'bme280', 'gpio-input', 'http', 'serial-line', 'sht4x'];

export interface Busy {
  readonly sensors: number;
  readonly devices: number;
  readonly outputs: number;
  /** Numbers of each of these that are in trouble: the first ones. */
  readonly failing?: number;
  readonly alarms?: number;
  readonly blocked?: number;
}

/** Returns `base` with that many things, named `sensor 1`, `meter1`, `output-1` and so on. */
export function busyStatus(base: AgentStatus, busy: Busy): AgentStatus {
  const { nowMs } = base;
  const sensors = numbers(busy.sensors).map((at): SensorStatus => {
    const isFailing = at <= (busy.failing ?? 0);
    return {
      name: `sensor${at}`,
      label: `Sensor ${at}`,
      kind: KINDS[at % KINDS.length] ?? '',
      ...deviceOf(at, busy),
      state: isFailing ? 'failing' : 'ok',
      ...(isFailing && { fault: 'no answer within the time that the line is given, tried three times' }),
      readings: [
        { key: 'temperature', value: 20 + at / 10, unit: '°C', atMs: nowMs - (isFailing ? 3_600_000 : at * 1_000) },
      ],
    };
  });
  const alarms = numbers(busy.alarms ?? 0).map(
    (at): AlarmStatus => ({
      sensor: `sensor${at}`,
      key: 'temperature',
      keyLabel: `Cold room ${at}`,
      name: 'hot',
      unit: '°C',
      above: 5,
      limit: 'above 5',
      value: 7.2,
      sinceMs: nowMs - 840_000,
      moves: [],
    }),
  );
  const actuators = numbers(busy.outputs).map(
    (at): ActuatorStatus => ({
      name: `output-${at}`,
      kind: 'gpio-output',
      value: at % 3 === 0,
      why: 'as rule night left it',
    }),
  );
  const devices = devicesSummary(
    numbers(busy.devices).map((at) =>
      attachedDevice({
        name: `gateway-1 meter${at}`,
        slots: [`meter${at}`],
        state: at <= (busy.blocked ?? 0) ? 'blocked' : 'ready',
        heldEntries: at <= (busy.blocked ?? 0) ? 40 : 0,
      }),
    ),
  );
  const failing = sensors.filter(({ state }) => state === 'failing');
  const alerts = [
    ...base.alerts,
    ...deviceAlerts(devices),
    ...failing.map(({ name, label = name, fault }) => `sensor ${label} fails since 07:12 UTC: ${fault}`),
  ];
  return { ...base, sensors, alarms, actuators, devices, alerts };
}

function deviceOf(at: number, { sensors, devices }: Busy): Pick<SensorStatus, 'device'> {
  const slot = at - (sensors - devices);
  return slot > 0 ? { device: `meter${slot}` } : {};
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}

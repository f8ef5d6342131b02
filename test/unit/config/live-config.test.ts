/** The configuration in force, with settings laid over the file's. */
import { beforeEach, describe, expect, it } from 'vitest';
import { LiveConfig } from '../../../src/config/live-config.ts';
import type { AgentConfig } from '../../../src/config/schema/agent-config.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';

const yaml = (keys: string): string => `${SMALLEST}
sensors: [{ name: roof, kind: host, period: 10s, keys: { uptimeS: ${keys} } }]
`;
const MIN = 'sensors.roof.keys.uptimeS.minInterval';
const MAX = 'sensors.roof.keys.uptimeS.maxInterval';

let live: LiveConfig;
let told: AgentConfig[];
const limits = (): unknown => {
  const { minIntervalMs, maxIntervalMs } = live.current.sensors[0]?.keys.uptimeS ?? {};
  return [minIntervalMs, maxIntervalMs];
};

beforeEach(async () => {
  live = new LiveConfig(await configOf(yaml('{ minInterval: 1m, maxInterval: 5m }')));
  told = [];
  live.onChange((config) => told.push(config));
});

describe('the configuration in force', () => {
  it('keeps settings that fit together through every change of what lies beneath, whatever the order in which they came', async () => {
    live.set(MAX, '20m');
    live.set(MIN, '10m');
    live.set(MAX, undefined);
    expect(limits()).toEqual([60_000, 300_000]);
    live.set(MAX, '20m');
    expect(limits()).toEqual([600_000, 1_200_000]);
    live.replace(await configOf(yaml('{ minInterval: 2m, maxInterval: 3m }')));
    expect(limits()).toEqual([600_000, 1_200_000]);
    expect(told.at(-1)).toBe(live.current);
  });

  it('refuses what crosses what is in force, and stays as it was', () => {
    expect(() => live.set(MIN, '10m')).toThrow('longer than maxInterval');
    expect([limits(), told.length]).toEqual([[60_000, 300_000], 0]);
    live.set(MIN, undefined);
    expect(told.length).toBe(0);
  });

  it('leaves rules that protect alone, and the times of the sensors that they go by', async () => {
    const rules = (...lines: readonly string[]): string => `${SMALLEST}
sensors:
  - { name: roof, kind: host, period: 10s }
  - { name: tank, kind: host, period: 10s, prefix: tank. }
actuators: [{ name: pump, kind: gpio-output, line: GPIO5 }, { name: fan, kind: gpio-output, line: GPIO6 }]
rules: [${lines.join(', ')}]
`;
    const hot = '{ name: hot, when: { sensor: roof, key: temperature, above: 60 }, set: { actuator: fan, value: on }';
    const idle =
      '{ name: idle, when: { sensor: tank, key: tank.uptimeS, above: 5 }, set: { actuator: pump, value: on } }';
    live = new LiveConfig(await configOf(rules(`${hot}, protect: true, sensorLost: on }`, idle)));
    for (const [key, value] of [
      ['rules.hot.enabled', false],
      ['rules.hot.when.above', 90],
      ['sensors.roof.period', '1h'],
      ['sensors.roof.enabled', false],
    ] as const)
      expect(() => live.set(key, value), key).toThrow('set on site alone');
    live.set('rules.idle.enabled', false);
    live.set('sensors.tank.period', '1h');
    expect(live.overrides).toMatchObject({ 'rules.idle.enabled': false, 'sensors.tank.period': 3_600_000 });
  });

  it('goes back to the file when a setting is taken away, and shows only what is laid over it', () => {
    live.set(MAX, '20m');
    expect(live.overrides).toEqual({ [MAX]: 1_200_000 });
    expect(live.overridesAsSet).toEqual({ [MAX]: '20m' });
    live.set(MAX, undefined);
    expect([limits(), live.overrides]).toEqual([[60_000, 300_000], {}]);
  });
});

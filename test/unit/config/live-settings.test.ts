import { describe, expect, it } from 'vitest';
import { changedSections } from '../../../src/config/changes/config-diff.ts';
import { liveSettings, withLiveSetting, withLiveSettings } from '../../../src/config/live-config.ts';
import type { AgentConfig } from '../../../src/config/schema/agent-config.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';

const YAML = `${SMALLEST}
sensors:
  - { name: roof, kind: sht3x, deadline: 1s, keys: { temperature: { deadband: 0.1, minInterval: 1s, maxInterval: 1m } } }
  - { name: attic, kind: sht3x, address: 0x45, enabled: false }
  - { name: wind, kind: gpio-frequency, line: GPIO6, gate: 4s }
  - { name: meter, kind: serial-line, port: /dev/ttyS1, format: number, window: { length: 1m } }
actuators: [{ name: fan, kind: gpio-output, line: GPIO5 }]
rules: [{ name: cool, when: { sensor: roof, key: temperature, above: 30 }, set: { actuator: fan, value: on } }]
`;

async function changed(
  key: string,
  value: string | number | boolean,
): Promise<{ readonly before: AgentConfig; readonly after: AgentConfig }> {
  const before = await configOf(YAML);
  const result = withLiveSetting(before, key, value);
  if ('fault' in result) throw new Error(result.fault);
  return { before, after: result.config };
}

describe('live settings', () => {
  it('are read from the schema: each with its key, what it takes and what holds now', async () => {
    const settings = liveSettings(await configOf(YAML));
    expect(settings.find(({ key }) => key === 'log.level')).toEqual({
      key: 'log.level',
      expected: 'one of debug, info, warn, error',
      value: 'info',
    });
    expect(settings.find(({ key }) => key === 'sensors.roof.period')).toMatchObject({
      value: 10_000,
      expected: expect.stringContaining('at least 10ms'),
    });
    expect(settings.map(({ key }) => key)).toEqual(
      expect.arrayContaining([
        'upload.interval',
        'outbox.backlogRate',
        'sensors.roof.enabled',
        'sensors.roof.keys.temperature.deadband',
        'rules.cool.enabled',
        'rules.cool.when.above',
      ]),
    );
  });

  it('do not reach what must not be changed from afar', async () => {
    const keys = liveSettings(await configOf(YAML)).map(({ key }) => key);
    expect(
      keys.filter((key) => /accessToken|url$|safe|limits|lockout|program|stateFolder|actuators/.test(key)),
    ).toEqual([]);
  });

  it('make a new configuration that differs in one section only', async () => {
    const { before, after } = await changed('sensors.roof.period', '30s');
    expect(after.sensors[0]?.periodMs).toBe(30_000);
    expect(before.sensors[0]?.periodMs).toBe(10_000);
    expect(changedSections(before, after)).toEqual(['sensors']);
    expect(Object.isFrozen(after.sensors[0])).toBe(true);
  });

  it.each([
    ['log.level', 'debug', (config: AgentConfig) => config.log.level === 'debug'],
    ['upload.interval', '1m', (config: AgentConfig) => config.upload.intervalMs === 60_000],
    ['link.daily', '5MB', (config: AgentConfig) => config.link.dailyBytes === 5_000_000],
    [
      'sensors.roof.keys.temperature.deadband',
      0.5,
      (config: AgentConfig) => config.sensors[0]?.keys.temperature?.deadband === 0.5,
    ],
    [
      'sensors.roof.keys.temperature.deadband',
      '5 %',
      (config: AgentConfig) => config.sensors[0]?.keys.temperature?.deadband === '5 %',
    ],
    ['rules.cool.enabled', false, (config: AgentConfig) => config.rules[0]?.enabled === false],
  ])('take %s = %s', async (key, value, holds) => {
    expect(holds((await changed(key, value)).after)).toBe(true);
  });

  it('let the deadline follow the period, unless somebody chose one', async () => {
    const deadlines = async (yaml: string, ...periods: readonly string[]) => {
      let config = await configOf(`${SMALLEST}sensors: [{ name: one, ${yaml} }]`);
      const found = [config.sensors[0]?.deadlineMs];
      for (const period of periods) {
        const result = withLiveSetting(config, 'sensors.one.period', period);
        if ('config' in result) config = result.config;
        found.push('fault' in result ? undefined : config.sensors[0]?.deadlineMs);
      }
      return found;
    };
    expect(await deadlines('kind: tmp102', '500ms', '10ms', '1m')).toEqual([2_000, 500, 10, 2_000]);
    expect(await deadlines('kind: sht3x', '20ms', '21ms')).toEqual([2_000, undefined, 21]);
    // Its conversions take 9.3 ms: with the bus a read never ends within 10 ms.
    expect(await deadlines('kind: bme280, bus: 1', '10ms', '15ms')).toEqual([2_000, undefined, 15]);
    const many = ['a', 'b', 'c'].flatMap((key) =>
      ['A0', 'A1', 'A2', 'A3', 'A0-A1', 'A2-A3'].map((input) => `${key}${input}: { input: ${input} }`),
    );
    expect(await deadlines(`kind: ads1115, samplesPerSecond: 8, channels: { ${many.join(', ')} }`)).toEqual([3_475]);
    expect(await deadlines('kind: sht3x, deadline: 2s', '500ms', '3s')).toEqual([2_000, undefined, 2_000]);
    expect(await deadlines('kind: gpio-frequency, line: GPIO4, gate: 5s', '5500ms', '1m', '5s')).toEqual([
      6_000,
      5_500,
      6_000,
      undefined,
    ]);
    const slow =
      'kind: modbus, connection: { transport: tcp, host: a, responseTimeout: 4s }, registers: { a: { address: 1 } }';
    expect(await deadlines(slow, '1m', '3s')).toEqual([5_000, 5_000, 3_000]);
  });

  it.each([
    ['log.level', 'loud', 'one of debug, info, warn, error'],
    ['sensors.roof.period', '1ms', 'at least 10ms'],
    ['sensors.roof.period', 30, 'a duration'],
    [
      'sensors.roof.period',
      '500ms',
      'deadline would be wrong: longer than the period, expected at most the period of 500ms',
    ],
    [
      'sensors.roof.keys.temperature.minInterval',
      '5m',
      'keys.temperature.minInterval would be wrong: longer than maxInterval',
    ],
    ['sensors.attic.enabled', true, 'key produced twice'],
    ['sensors.wind.period', '3s', 'gate would be wrong: not within the period'],
    ['sensors.meter.period', '2m', 'window.length would be wrong: shorter than the period'],
    ['rules.cool.when.below', 5, 'when would be wrong: several conditions: above, below'],
    ['sensors.cellar.period', '1s', 'no live setting'],
    ['platform.url', 'https://example.com', 'no live setting'],
    ['__proto__.period', '1s', 'no live setting'],
  ])('refuse %s = %s in words', async (key, value, words) => {
    expect(withLiveSetting(await configOf(YAML), key, value)).toEqual({ fault: expect.stringContaining(words) });
  });

  it.each([[['1m', '20m', '10m', '2m']], [['5s', '2s', '500ms', '3s']]])(
    'fit together whatever their order: %j',
    async ([period, max, min, other]) => {
      const config = await configOf(YAML);
      const settings = [
        ['sensors.roof.keys.temperature.minInterval', min],
        ['sensors.roof.keys.temperature.maxInterval', max],
        ['sensors.meter.period', period],
        ['sensors.roof.period', other],
      ] as [string, string][];
      for (const order of permutations(settings)) {
        const values = liveSettings(withLiveSettings(config, order)).filter(({ key }) =>
          settings.some(([one]) => one === key),
        );
        expect(Object.fromEntries(values.map(({ key, value }) => [key, value]))).toEqual(expectedOf(settings));
      }
    },
  );

  it('that never fit are left out, and the others hold', async () => {
    const config = withLiveSettings(await configOf(YAML), [
      ['sensors.roof.keys.temperature.minInterval', '2m'],
      ['no.such.setting', 1],
      ['log.level', 'debug'],
    ]);
    expect([config.log.level, config.sensors[0]?.keys.temperature?.minIntervalMs]).toEqual(['debug', 1_000]);
    const before = await configOf(YAML);
    expect(withLiveSettings(before, [])).toBe(before);
  });
});

function permutations<Item>(items: readonly Item[]): Item[][] {
  return items.length < 2
    ? [[...items]]
    : items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}

function expectedOf(settings: readonly (readonly [string, string])[]): object {
  const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };
  return Object.fromEntries(
    settings.map(([key, text]) => [key, Number.parseInt(text, 10) * (unitMs[text.replace(/\d+/, '')] ?? Number.NaN)]),
  );
}

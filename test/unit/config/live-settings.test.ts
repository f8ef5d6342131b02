import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/config/agent-config.ts';
import { changedSections } from '../../../src/config/config-diff.ts';
import { liveSettings, withLiveSetting } from '../../../src/config/live-settings.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';

const YAML = `${SMALLEST}
sensors:
  - { name: roof, kind: sht3x, deadline: 1s, keys: { temperature: { deadband: 0.1, minInterval: 1s, maxInterval: 1m } } }
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
    expect(keys.filter((key) => /accessToken|url$|safe|limits|lockout|program|stateFolder|actuators/.test(key))).toEqual([]);
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
    ['platform.dailyBudget', '5MB', (config: AgentConfig) => config.platform.dailyBudgetBytes === 5_000_000],
    ['sensors.roof.keys.temperature.deadband', 0.5, (config: AgentConfig) => config.sensors[0]?.keys.temperature?.deadband === 0.5],
    ['rules.cool.enabled', false, (config: AgentConfig) => config.rules[0]?.enabled === false],
  ])('take %s = %s', async (key, value, holds) => {
    expect(holds((await changed(key, value)).after)).toBe(true);
  });

  it.each([
    ['log.level', 'loud', 'one of debug, info, warn, error'],
    ['sensors.roof.period', '1ms', 'at least 10ms'],
    ['sensors.roof.period', 30, 'a duration'],
    ['sensors.roof.period', '500ms', "the sensor's deadline of 1000 ms"],
    ['sensors.roof.keys.temperature.minInterval', '5m', 'minInterval would be longer'],
    ['sensors.attic.period', '1s', 'no live setting'],
    ['platform.url', 'https://example.com', 'no live setting'],
    ['__proto__.period', '1s', 'no live setting'],
  ])('refuse %s = %s in words', async (key, value, words) => {
    expect(withLiveSetting(await configOf(YAML), key, value)).toEqual({ fault: expect.stringContaining(words) });
  });
});

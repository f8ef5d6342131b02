/** Which program a sensor goes by after a reload, where an output shares it. */
import { expect, it } from 'vitest';
import { programsUntilRestart } from '../../../src/config/changes/programs-until-restart.ts';
import { type AgentConfig, configSchema } from '../../../src/config/schema/agent-config.ts';

function config(sensors: Readonly<Record<string, string>>, outputs: Readonly<Record<string, string>>): AgentConfig {
  const section = ([name, argument]: readonly [string, string]) => ({
    name,
    kind: 'process',
    program: '/opt/tool',
    arguments: [argument],
  });
  return configSchema.parse({
    version: 1,
    platform: { url: 'http://platform' },
    sensors: Object.entries(sensors).map((each) => ({ ...section(each), period: '1s' })),
    actuators: Object.entries(outputs).map((each) => ({ ...section(each), valueType: 'boolean' })),
  });
}

const was = config({ level: 'a', other: 'b' }, { pump: 'a' });

function after(now: AgentConfig): unknown {
  const sensors = programsUntilRestart({ opened: was.actuators, sensors: was.sensors }, now);
  return Object.fromEntries(sensors.map((one) => [one.name, 'arguments' in one ? one.arguments?.[0] : undefined]));
}

it('a program that an output shares goes on for both until the restart', () => {
  expect(after(config({ level: 'c', other: 'b' }, { pump: 'c' }))).toEqual({ level: 'a', other: 'b' });
  expect(after(config({ level: 'a' }, { pump: 'c' }))).toEqual({ level: 'a' });
});

it('a sensor that is new with the changed program joins the one that runs', () => {
  expect(after(config({ level: 'c', more: 'c' }, { pump: 'c' }))).toEqual({ level: 'a', more: 'a' });
});

it('an output that is taken out keeps its program from its sensors until the restart', () => {
  expect(after(config({ level: 'c' }, {}))).toEqual({ level: 'a' });
});

it('a sensor that leaves the program of an output, or shares none, is opened anew at once', () => {
  expect(after(config({ level: 'c', other: 'd' }, { pump: 'a' }))).toEqual({ level: 'c', other: 'd' });
});

it('other options of the sensor are taken up at once', () => {
  const now = config({ level: 'c' }, { pump: 'c' });
  const changed = {
    actuators: now.actuators,
    sensors: now.sensors.map((one) => Object.assign({}, one, { periodMs: 5_000 })),
  };
  const [level] = programsUntilRestart({ opened: was.actuators, sensors: was.sensors }, changed);
  expect(level).toMatchObject({ arguments: ['a'], periodMs: 5_000 });
});

/** Which local rules a reload takes up where actuators have changed with them. */
import { expect, it } from 'vitest';
import { rulesUntilRestart } from '../../../src/config/changes/rules-until-restart.ts';
import { type AgentConfig, configSchema } from '../../../src/config/schema/agent-config.ts';

interface RuleSketch {
  readonly name?: string;
  readonly on?: string;
  readonly above?: number;
  readonly enabled?: boolean;
}

function config(actuators: readonly object[], rules: readonly RuleSketch[]): AgentConfig {
  return configSchema.parse({
    version: 1,
    platform: { url: 'http://platform' },
    sensors: [{ name: 'room', kind: 'host', period: '1s' }],
    actuators: actuators.map((actuator, n) => ({ kind: 'gpio-output', line: `GPIO${n + 2}`, ...actuator })),
    rules: rules.map(({ name = 'cool', on = 'fan', above = 50, enabled = true }) => {
      return { name, enabled, when: { sensor: 'room', key: 't', above }, set: { actuator: on, value: true } };
    }),
  });
}

const FAN = { name: 'fan' };
const PUMP = { name: 'pump' };
const was = config([FAN, PUMP], [{}, { name: 'fill', on: 'pump' }]);

function sketchesAfter(now: AgentConfig): readonly RuleSketch[] {
  const taken = rulesUntilRestart({ opened: was.actuators, rules: was.rules }, now);
  return taken.map(({ name, set, when, enabled }) => ({
    name,
    on: set.actuator,
    above: when?.above as number,
    enabled,
  }));
}

const COOL = { name: 'cool', on: 'fan', above: 50, enabled: true };
const FILL = { name: 'fill', on: 'pump', above: 50, enabled: true };

it.each<[string, AgentConfig, readonly RuleSketch[]]>([
  ['all of them where no actuator changed', config([FAN, PUMP], [{ above: 60 }]), [{ ...COOL, above: 60 }]],
  [
    'not one that goes with its actuator to another name',
    config([{ name: 'cabinetFan' }, PUMP], [{ on: 'cabinetFan' }, { name: 'fill', on: 'pump', above: 7 }]),
    [COOL, { ...FILL, above: 7 }],
  ],
  ['that one is taken out with its actuator', config([PUMP], [{ name: 'fill', on: 'pump' }]), [FILL]],
  ['that one is taken out whose actuator is another thing now', config([{ ...FAN, activeLow: true }, PUMP], []), []],
  [
    'that one is gone, and not the one in its place for another actuator',
    config(
      [{ name: 'cabinetFan' }, PUMP],
      [
        { name: 'fill', on: 'pump' },
        { name: 'other', on: 'cabinetFan' },
      ],
    ),
    [FILL],
  ],
  ['not one whose actuator is another thing now', config([{ ...FAN, activeLow: true }, PUMP], [{ above: 60 }]), [COOL]],
  ['not one whose actuator is switched off', config([{ ...FAN, enabled: false }, PUMP], [{ above: 60 }]), [COOL]],
  [
    'that it is switched off',
    config([{ ...FAN, activeLow: true }, PUMP], [{ enabled: false }]),
    [{ ...COOL, enabled: false }],
  ],
  [
    'one that is for another actuator now',
    config([{ ...FAN, activeLow: true }, PUMP], [{ on: 'pump' }]),
    [{ ...COOL, on: 'pump' }],
  ],
  ['no new one for a new actuator', config([FAN, PUMP, { name: 'horn' }], [{ name: 'alarm', on: 'horn' }]), []],
])('takes up %s', (_what, now, expected) => {
  expect(sketchesAfter(now)).toEqual(expected);
});

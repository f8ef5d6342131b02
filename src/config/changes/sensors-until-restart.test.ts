/** Which sensors a reload takes up where devices have changed with them. */
import { expect, it } from 'vitest';
import { type AgentConfig, configSchema } from '../schema/agent-config.ts';
import { sensorsUntilRestart } from './sensors-until-restart.ts';

function config(devices: readonly string[], sensors: Readonly<Record<string, string | undefined>>): AgentConfig {
  return configSchema.parse({
    ...{ version: 1, platform: { url: 'http://platform' }, devices: devices.map((name) => ({ name })) },
    sensors: Object.entries(sensors).map(([name, device]) => ({ name, kind: 'host', device })),
  });
}

const was = config(['m1', 'm2'], { own: undefined, first: 'm1', second: 'm2' });

it.each([
  ['all of them where no device changed', config(['m1', 'm2'], { first: 'm1', third: 'm2' }), { first: 'm1', third: 'm2' }],
  ['at once that one belongs to another device', config(['m1', 'm2'], { first: 'm2', own: 'm1' }), { first: 'm2', own: 'm1' }],
  ['at once that one belongs to the gateway', config(['m1'], { first: undefined }), { first: undefined }],
  ['no new one of a new device', config(['m1', 'm3'], { first: 'm1', third: 'm3' }), { first: 'm1' }],
  ['not that one belongs to a new device', config(['m3'], { first: 'm3', own: 'm3' }), { first: 'm1', own: undefined }],
  ['that one is taken out with its device', config(['m1'], { first: 'm1' }), { first: 'm1' }],
] as const)('takes up %s', (_what, now, expected) => {
  const taken = sensorsUntilRestart(was, now).map(({ name, device }) => [name, device]);
  expect(taken).toEqual(Object.entries(expected));
});

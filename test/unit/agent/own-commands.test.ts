/** Which methods of the configuration belong to which device. */
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { ownActuators } from '../../../src/actuators/own-actuators.ts';
import { ownDeclaredMethods, ownMethodConfigs } from '../../../src/agent/own-commands.ts';
import { DevicesBench } from '../../support/devices-bench.ts';

const relay = (name: string, device?: string, enabled = true) => ({
  name,
  kind: 'gpio-output',
  line: name,
  enabled,
  ...(device === undefined ? {} : { device }),
});
const CONFIG = {
  devices: [{ name: 'one' }, { name: 'two' }],
  actuators: [relay('pump1', 'one'), relay('valve1', 'one', false), relay('pump2', 'two'), relay('lamp')],
  sensors: [
    { name: 'meter1', kind: 'host', device: 'one' },
    { name: 'board', kind: 'host' },
  ],
  rpc: {
    methods: {
      setActuator: { mostPerMinute: 5 },
      setValue: { actuator: 'lamp' },
      openValve: { actuator: 'valve1', value: true },
      readMeter: { sensor: 'meter1' },
      readBoard: { sensor: 'board' },
      panel: { pins: { 1: 'pump1', 2: 'valve1' } },
      mixed: { pins: { 1: 'pump1', 2: 'lamp' } },
      backup: { command: { program: '/bin/true' } },
    },
  },
};

let bench: DevicesBench;

beforeAll(async () => {
  await import('../../../src/actuators/gpio-output/driver.ts');
});
beforeEach(() => {
  bench = new DevicesBench(CONFIG);
});

it.each([
  [undefined, ['setActuator', 'setValue', 'readBoard', 'backup']],
  ['one', ['setActuator', 'openValve', 'readMeter', 'panel']],
  ['two', ['setActuator']],
])(
  'entries of %s are those that name its own actuators and sensors, and permissions of what all have',
  (device, expected) => {
    expect(Object.keys(ownMethodConfigs(bench.config, device))).toEqual(expected);
  },
);

it('a device has the methods declared for it, and widgets move its only output: also where the gateway declares one of that name', async () => {
  await bench.start();
  const namesOf = (device?: string): readonly string[] => {
    const actuators = ownActuators(bench.actuators, device);
    const sampler = { readNow: async () => [] };
    return ownDeclaredMethods({ config: () => bench.config, actuators, sampler }, device)
      .map(({ name }) => name)
      .sort();
  };
  const widgets = ['checkStatus', 'getState', 'getValue', 'setState', 'setValue'];
  expect(namesOf()).toEqual([...widgets, 'readBoard'].sort());
  expect(namesOf('one')).toEqual([...widgets, 'openValve', 'panel', 'readMeter'].sort());
  expect(namesOf('two')).toEqual(widgets);
  await bench.stop();
});

it('the gateway’s own view has no output of an attached device, and hears of none', async () => {
  await bench.start();
  const { configs, control } = ownActuators(bench.actuators);
  const heard: string[] = [];
  const end = control.onState(({ name }) => heard.push(name));
  const { signal } = new AbortController();
  expect(configs.map(({ name }) => name)).toEqual(['lamp']);
  await expect(control.set('pump1', true, { by: 'rpc' }, signal)).rejects.toMatchObject({ code: 'actuators/unknown' });
  await expect(control.release('pump1')).rejects.toMatchObject({ code: 'actuators/unknown' });
  for (const call of ['state', 'settings', 'movements', 'foundAtStart'] as const)
    expect(() => control[call]('pump1')).toThrow('there is no actuator pump1');
  expect(control.find('pump1')).toBeUndefined();
  await bench.actuators.control.set('pump1', true, { by: 'rpc' }, signal);
  await control.set('lamp', true, { by: 'rpc' }, signal);
  expect(new Set(heard)).toEqual(new Set(['lamp']));
  end();
  await bench.stop();
});

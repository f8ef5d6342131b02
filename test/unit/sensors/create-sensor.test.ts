import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/config/schema/agent-config.ts';
import { silentLog } from '../../../src/host/log.ts';
import { samplerEntry } from '../../../src/sensors/create-sensor.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FewLines } from '../../support/few-lines.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { OF_THIS_MACHINE } from '../../support/sensor-bench.ts';

const deps = {
  ...OF_THIS_MACHINE,
  ports: new FewLines().ports,
  clock: new FakeClock(),
  files: new MemoryFiles(),
  log: silentLog,
  stateFolder: '/state',
};
const config = (changed: Readonly<Record<string, string>> = {}): Promise<AgentConfig> => {
  const { keys = '', above = '70', other = '5', program = '/bin/true', level = 'info' } = changed;
  return configOf(
    `${SMALLEST}
log: { level: ${level} }
sensors:
  - { name: machine, kind: host, ${keys} }
actuators:
  - { name: horn, kind: command, program: ${program}, arguments: ["{value}"], valueType: boolean }
  - { name: lamp, kind: command, program: /bin/true, arguments: ["{value}"], valueType: boolean }
rules:
  - { name: hot, when: { sensor: machine, key: temperature, above: ${above} }, set: { actuator: horn, value: on } }
  - { name: loaded, when: { sensor: other, key: load1, above: ${other} }, set: { actuator: lamp, value: on } }
`.replace('actuators:', '  - { name: other, kind: host }\nactuators:'),
  );
};
const entryOf = async (changed?: Readonly<Record<string, string>>) => {
  const all = await config(changed);
  return samplerEntry(all.sensors[0] as (typeof all.sensors)[0], deps, all);
};

describe('what is made of the readings of a sensor', () => {
  it.each([{}, { level: 'debug' }, { other: '6' }])('is the same with %o', async (changed) => {
    const [before, now] = [await entryOf(), await entryOf(changed)];
    expect(now).toMatchObject({ use: before.use, revision: before.revision });
  });

  it.each([{ keys: 'keys: { temperature: { deadband: 1 } }' }, { above: '71' }, { program: '/bin/false' }])(
    'differs with %o',
    async (changed) => {
      const [before, now] = [await entryOf(), await entryOf(changed)];
      expect(now.use).not.toEqual(before.use);
      expect(now.revision).toBe(before.revision);
    },
  );
});

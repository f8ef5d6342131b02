/** Words about a device that is in no slot any more: each cause has its own. */
import { expect, it } from 'vitest';
import { deviceVerdict } from '../../../../src/status/shape/device-status.ts';
import { PartsBench } from '../../../support/device-slots-bench.ts';

const SLOT = { name: 'meter', serialNumber: { sensor: 'm', key: 'serial' } };
const SENSOR = { name: 'm', kind: 'host', device: 'meter' };

it.each<[string, (bench: PartsBench) => Promise<void> | void, RegExp]>([
  [
    'a swap',
    (bench) => {
      for (let times = 0; times < 2; times += 1) bench.devices.observe('m', 'serial', '2222');
    },
    /^swapped for another device, \d+ entries wait/,
  ],
  ['a move', (bench) => bench.control.leave('roof 1111'), /^went to another gateway, \d+ entries wait/],
  ['another configuration', (bench) => bench.names.configure([]), /^taken out of the configuration, \d+ entries wait/],
])('after %s says so', async (_, go, words) => {
  const bench = await new PartsBench({ devices: [SLOT], sensors: [SENSOR] }).start();
  for (let times = 0; times < 2; times += 1) bench.devices.observe('m', 'serial', '1111');
  bench.platform.uploadAnswer = () => ({ kind: 'refused', status: 400, text: 'no' });
  await bench.seconds(20, ['meter']);
  await go(bench);
  await bench.seconds(5);
  const device = bench.control.list().find(({ id }) => id === 'roof 1111');
  await bench.close();
  expect(device?.state).toBe('removed');
  expect(device && deviceVerdict(device).words).toMatch(words);
});

/** Readings of devices while one of them cannot have its own yet. */
import { expect, it } from 'vitest';
import { PartsBench } from '../../../support/device-slots-bench.ts';

const METER = { name: 'meter', serialNumber: { sensor: 'm', key: 'serial' } };
const SENSOR = { name: 'm', kind: 'host', device: 'meter' };

it.each(['at its first start', 'at a start with known devices'])(
  'sends of others what one waits for, %s',
  async (when) => {
    let bench = await new PartsBench({ devices: [{ name: 'm1' }, { name: 'm2' }, METER], sensors: [SENSOR] }).start();
    if (when.includes('known')) {
      await bench.seconds(5, ['m1']);
      await bench.close();
      bench = await new PartsBench(
        { devices: [{ name: 'm1' }, { name: 'm2' }, METER], sensors: [SENSOR] },
        bench,
      ).start();
    }
    const before = bench.keysAt('roof m2').length;
    await bench.seconds(20, ['m1', 'm2', 'meter']);
    const others = bench.keysAt('roof m2').length - before;
    bench.devices.observe('m', 'serial', '4711');
    bench.devices.observe('m', 'serial', '4711');
    await bench.seconds(10, ['m1', 'meter']);
    const own = bench.keysAt('roof 4711').length;
    await bench.close();
    expect(others).toBeGreaterThanOrEqual(10);
    expect(own).toBeGreaterThanOrEqual(25);
  },
);

it('sends of others while one is provisioned that the platform answers late', async () => {
  const bench = new PartsBench({ devices: [{ name: 'm1' }, { name: 'late' }] });
  const { provision } = bench.platform;
  bench.platform.provision = async (request) => {
    if (request.deviceName === 'roof late') await bench.clock.sleep(20_000, new AbortController().signal);
    return await provision(request);
  };
  await bench.start();
  await bench.seconds(18, ['m1', 'late']);
  const others = bench.keysAt('roof m1').length;
  await bench.seconds(22, ['m1', 'late']);
  const own = bench.keysAt('roof late').length;
  await bench.close();
  expect(others).toBeGreaterThanOrEqual(10);
  expect(own).toBeGreaterThanOrEqual(35);
});

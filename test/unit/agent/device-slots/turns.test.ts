/** Many devices with an output each: their polls take turns. */
import { expect, it } from 'vitest';
import { DevicesBench } from '../../../support/devices-bench.ts';

const COUNT = 40;
const names = Array.from({ length: COUNT }, (_, at) => `d${at}`);

it('forty devices with `noContact: 2m` stay on while the platform is there, and each hears its command soon', async () => {
  await import('../../../../src/actuators/gpio-output/driver.ts');
  const bench = new DevicesBench({
    devices: names.map((name) => ({ name })),
    rpc: { enabled: true },
    actuators: names.map((name) => ({
      name: `pump-${name}`,
      kind: 'gpio-output',
      device: name,
      line: name,
      desiredKey: 'wish',
      safe: { noContact: { after: '2m', value: false } },
    })),
  });
  await bench.start();
  for (const name of names) {
    const set = bench.actuators.control.set(
      `pump-${name}`,
      true as never,
      { by: 'rpc' } as never,
      new AbortController().signal,
    );
    await bench.clock.advance(100);
    await set;
  }
  await bench.clock.advance(1_800_000);
  const off = names.filter((name) => bench.written.get(name)?.at(-1) !== 1);
  const delays: number[] = [];
  for (const name of names.slice(0, 10)) {
    const from = bench.clock.monotonicMs();
    bench.side(name).command('setValue', false);
    while (bench.side(name).replies.length === 0 && bench.clock.monotonicMs() - from < 900_000)
      await bench.clock.advance(1_000);
    delays.push(bench.clock.monotonicMs() - from);
  }
  await bench.stop();
  expect(off).toEqual([]);
  expect(Math.max(...delays)).toBeLessThan(300_000);
});

it('a wish given while a device waits for its turn is carried out', async () => {
  await import('../../../../src/actuators/gpio-output/driver.ts');
  const bench = new DevicesBench({
    devices: names.map((name) => ({ name })),
    rpc: { enabled: true },
    actuators: names.map((name) => ({
      name: `pump-${name}`,
      kind: 'gpio-output',
      device: name,
      line: name,
      desiredKey: 'wish',
    })),
  });
  await bench.start();
  await bench.clock.advance(70_000);
  for (const name of names) bench.side(name).share({ wish: true });
  await bench.clock.advance(900_000);
  const off = names.filter((name) => bench.written.get(name)?.at(-1) !== 1);
  await bench.stop();
  expect(off).toEqual([]);
});

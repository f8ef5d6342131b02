/** Chips as they are met in the field: idle, or set up by our own drivers. */
import { afterEach, expect, it } from 'vitest';
import { answersAt, identifyChip } from '../../../src/kinds/identify-chip.ts';
import { createSensor } from '../../../src/sensors/create-sensor.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';
import { sensorConfig, sensorDeps } from '../../support/sensor-bench.ts';

const { signal } = new AbortController();
const CHIPS = [
  ['sht3x', 0x44],
  ['ina219', 0x40],
  ['tmp102', 0x48],
  ['mcp9808', 0x18],
  ['bme280', 0x76],
] as const;

let bench: BoardBench;
afterEach(() => bench.close());

it.each(CHIPS)(
  'a %s answers and is known for what it is, before and after its driver has set it up',
  async (kind, address) => {
    const signals = {
      voltage: { kind: 'constant' as const, value: 12 },
      temperature: { kind: 'constant' as const, value: 20 },
    };
    bench = await openBoardBench(() => ({ i2c: [{ bus: 1, chips: [{ kind, address, signals }] }] }));
    const bus = await bench.ports.i2c.openBus(1, signal);
    const found = async () => [await answersAt(bus, address, signal), (await identifyChip(bus, address, signal))?.kind];
    expect(await found()).toEqual([true, kind]);
    const more = kind === 'ina219' ? { shuntOhms: 0.01, maxAmperes: 5, busRangeVolts: 16 } : {};
    await (await createSensor(sensorConfig({ name: 'chip', kind, address, ...more }), sensorDeps(bench), signal)).read(
      signal,
    );
    expect(await found()).toEqual([true, kind]);
  },
);

it('nobody answers where there is nobody', async () => {
  bench = await openBoardBench(() => ({ i2c: [{ bus: 1, chips: [] }] }));
  const bus = await bench.ports.i2c.openBus(1, signal);
  for (const address of [0x44, 0x45, 0x76]) expect(await answersAt(bus, address, signal)).toBe(false);
});

/** A BH1750 that loses its power in the middle of a measurement shows what darkness shows. */
import { expect, it } from 'vitest';
import type { I2cBus } from '../../../src/hardware/i2c-port.ts';
import { openBh1750 } from '../../../src/sensors/bh1750.ts';
import type { BoardBench } from '../../support/board-bench.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { sensorConfig, sensorDeps } from '../../support/sensor-bench.ts';

const signal = new AbortController().signal;

/** What a read gives, and how often it measured, where measurements show these counts. */
async function read(counts: readonly number[], more: object = {}): Promise<{ readonly lux: unknown; readonly opcodes: readonly number[] }> {
  const clock = new FakeClock();
  const opcodes: number[] = [];
  const left = [...counts];
  // Only what the driver asks of a bus.
  const bus = {
    name: 'i2c-1',
    write: async (_address: number, bytes: Uint8Array) => void opcodes.push(...bytes),
    read: async () => {
      const raw = left.shift() ?? 0;
      return Uint8Array.of(raw >> 8, raw & 0xff);
    },
    close: async () => {},
  } as unknown as I2cBus;
  const ports = { i2c: { openBus: async () => bus } } as unknown as BoardBench['ports'];
  const config = sensorConfig({ name: 'daylight', kind: 'bh1750', period: '30s', ...more });
  const sensor = await openBh1750(config, { ...sensorDeps({ ports, folder: '/' }), clock }, signal);
  let readings: readonly { readonly value: unknown }[] | undefined;
  void sensor.read(signal).then((taken) => {
    readings = taken;
  });
  await clock.advance(1_000);
  return { lux: readings?.[0]?.value, opcodes };
}

it('is measured once where there is light', async () => {
  expect(await read([120])).toEqual({ lux: 100, opcodes: [0x20] });
});

it('is not taken for dark because its supply failed during one measurement', async () => {
  expect(await read([0, 120])).toEqual({ lux: 100, opcodes: [0x20, 0x20] });
  expect(await read([0, 1])).toEqual({ lux: 0.83, opcodes: [0x20, 0x20] });
});

it('is dark when it says so twice', async () => {
  expect(await read([0, 0])).toEqual({ lux: 0, opcodes: [0x20, 0x20] });
});

it('is believed at once where the deadline leaves no time for a second measurement', async () => {
  expect(await read([0, 120], { deadline: '500ms' })).toEqual({ lux: 0, opcodes: [0x20] });
  expect(await read([0, 120], { deadline: '500ms', mode: 'low' })).toEqual({ lux: 100, opcodes: [0x23, 0x23] });
});

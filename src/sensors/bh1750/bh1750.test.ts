/** The BH1750 against its sheet and on the board; one that loses its power in a measurement shows what darkness shows. */
import { describe, expect, it } from 'vitest';
import type { BoardBench } from '../../../test/support/board-bench.ts';
import { otherLibraries, readsWhatIsShown, withinForAll } from '../../../test/support/chip-on-board.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import type { I2cBus } from '../../hardware/i2c-port.ts';
import { open as openBh1750, parseBh1750 } from './driver.ts';

const signal = new AbortController().signal;

/** Returns a read's value, and how often it measured, where measurements show these counts. */
async function read(
  counts: readonly number[],
  more: object = {},
): Promise<{ readonly lux: unknown; readonly opcodes: readonly number[] }> {
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

describe('BH1750', () => {
  // ROHM BH1750FVI technical note 2009.04, rev. B, page 10: high byte 1000_0011, low byte 1001_0000 are about 28067 lx.
  it('agrees with the example of its data sheet', () => {
    expect(parseBh1750(Uint8Array.of(0b1000_0011, 0b1001_0000), 'high').value).toBeCloseTo(28_067, -1);
    expect(Math.round(Number(parseBh1750(Uint8Array.of(0b1000_0011, 0b1001_0000), 'high').value))).toBe(28_067);
    expect(parseBh1750(Uint8Array.of(0xff, 0xfe), 'high2').value).toBe(27305.83);
  });
  it('is not believed at the end of its count', () => {
    expect(() => parseBh1750(Uint8Array.of(0xff, 0xff), 'high')).toThrow(/end of the range/);
  });
  it('never leaves its range', () => withinForAll((_, bytes) => [parseBh1750(bytes, 'low')], [0, 54_611.67]));
});

it('agrees with the library of another maker', async () => {
  const { bh1750 } = await otherLibraries();
  for (const [raw, mode, lux] of bh1750)
    expect(parseBh1750(Uint8Array.of(raw >> 8, raw & 0xff), mode).value).toBeCloseTo(lux, 1);
  expect(bh1750).toHaveLength(40);
});

it('reads exactly what the board says it showed, and survives a chip that loses its power', () =>
  readsWhatIsShown('bh1750', 0x23, { mode: 'low' }));

/**
 * Pulses on a GPIO line: `total`, which survives restarts, and `rate` per second since the reading before. The total is written every
 * `saveEvery`, and at close, and reported as it was written: a power cut loses the pulses since the last write, which is the price for sparing
 * the card, and no reported total steps back. Pulses do not wait for the disk: they are counted from the start, and the total is reported once
 * it is known what they are added to.
 */

import { join } from 'node:path';
import type { LineEdge } from '../../hardware/gpio-port.ts';
import { SavedTotal } from '../families/totals/saved-total.ts';
import { rounded } from '../kind/i2c-chip.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { type GpioCounterConfig, UNITS } from './definition.ts';

export async function open(config: GpioCounterConfig, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, line, activeLow, bias, debounceMs, edge, saveEveryMs } = config;
  const { clock, log, ports, stateFolder, files } = deps;
  const input = await ports.gpio.openInput({ line, activeLow, bias, debounceMs, edges: edge }, signal);
  const total = new SavedTotal(join(stateFolder, 'counters'), name, { files, clock, log, saveEveryMs });
  input.watch(({ missed }: LineEdge) => total.add(1 + missed));
  await total.load();
  let before: { readonly added: number; readonly atMs: number } | undefined;
  return {
    name,
    read: async (readSignal) => {
      await input.read(readSignal); // a line whose chip is gone would count nothing for ever
      const now = { added: total.added, atMs: clock.monotonicMs() };
      const saved = await total.saved();
      const readings: Reading[] = saved === undefined ? [] : [{ key: 'total', value: saved }];
      if (before !== undefined && now.atMs > before.atMs) {
        const perSecond = ((now.added - before.added) * 1_000) / (now.atMs - before.atMs);
        readings.push({ key: 'rate', value: rounded(perSecond, 3), unit: UNITS.rate });
      }
      before = now;
      return readings;
    },
    close: () => total.close(input.close()),
  };
}

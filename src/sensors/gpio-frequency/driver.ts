/**
 * A frequency on a GPIO line: whole periods between the line's own edge times during the gate, so that even a short gate resolves a slow
 * signal well. A gate with fewer than two edges saw no period: the signal is slower than the gate can tell, or stands still, and reads 0.
 */
import { deadlineError } from '../../hardware/deadline.ts';
import type { LineEdge } from '../../hardware/gpio-port.ts';
import { rounded } from '../kind/i2c-chip.ts';
import type { Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { type GpioFrequencyConfig, UNITS } from './definition.ts';

export async function open(
  config: GpioFrequencyConfig,
  { ports, clock }: SensorDeps,
  signal: AbortSignal,
): Promise<Sensor> {
  const { name, line, activeLow, bias, debounceMs, edge, gateMs } = config;
  const input = await ports.gpio.openInput({ line, activeLow, bias, debounceMs, edges: edge }, signal);
  return {
    name,
    read: async (readSignal) => {
      const edges: LineEdge[] = [];
      const end = input.watch((seen) => edges.push(seen));
      await clock.sleep(gateMs, readSignal);
      end();
      // A gate that was cut short says nothing.
      if (readSignal.aborted) throw deadlineError(`the gate of ${name}`, readSignal);
      await input.read(readSignal); // a line whose chip is gone would stand still for ever
      return [{ key: 'frequency', value: frequencyOf(edges), unit: UNITS.frequency }];
    },
    close: () => input.close(),
  };
}

/** Whole periods over the time they took. */
export function frequencyOf(edges: readonly LineEdge[]): number {
  const [first] = edges;
  const last = edges.at(-1);
  if (first === undefined || last === undefined) return 0;
  const periods = edges.length - 1 + edges.slice(1).reduce((sum, { missed }) => sum + missed, 0);
  const elapsedMs = last.monotonicMs - first.monotonicMs;
  return elapsedMs > 0 ? rounded((periods * 1_000) / elapsedMs, 3) : 0;
}

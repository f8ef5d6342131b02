/** A GPIO line as a sensor: `state`, true when active; at every edge, and at every period as a heartbeat. */
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import type { GpioInputConfig } from './definition.ts';

export async function open(config: GpioInputConfig, { ports }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, line, activeLow, bias, debounceMs } = config;
  const input = await ports.gpio.openInput({ line, activeLow, bias, debounceMs, edges: 'both' }, signal);
  return {
    name,
    read: async (readSignal) => [{ key: 'state', value: (await input.read(readSignal)) === 1 }],
    subscribe: (listener) =>
      input.watch(({ level, monotonicMs }) =>
        listener([{ key: 'state', value: level === 1, monotonicMs } satisfies Reading]),
      ),
    close: () => input.close(),
  };
}

/** A relay, a lamp, a contactor: one output line. Active-low is the port's business; here `true` is "on". */
import type { DriverDeps, OpenDriver } from '../kind/definition.ts';
import type { GpioOutputConfig } from './definition.ts';

/** Opens the line as it is: it changes with the first write. @throws as GpioPort.openOutput. */
export function opener({ line, activeLow }: GpioOutputConfig, { ports }: DriverDeps): OpenDriver {
  return async (signal) => {
    const output = await ports.gpio.openOutput({ line, activeLow, initial: 'keep' }, signal);
    return {
      write: (value, writeSignal) => output.write(value === true ? 1 : 0, writeSignal),
      read: async (readSignal) => (await output.read(readSignal)) === 1,
      close: () => output.close(),
    };
  };
}

/** A relay, a lamp, a contactor: one output line. Active-low is the port's business; here `true` is "on". */
import type { ActuatorConfigOf } from '../config/agent-config.ts';
import type { GpioPort } from '../hardware/gpio-port.ts';
import type { ActuatorDriver } from './actuator.ts';

/** Takes the line without moving it: what an output shows stays until the first write. @throws as GpioPort.openOutput. */
export async function openGpioOutput(
  config: ActuatorConfigOf<'gpio-output'>,
  gpio: GpioPort,
  signal: AbortSignal,
): Promise<ActuatorDriver> {
  const output = await gpio.openOutput({ line: config.line, activeLow: config.activeLow, initial: 'keep' }, signal);
  return {
    write: (value, writeSignal) => output.write(value === true ? 1 : 0, writeSignal),
    read: async (readSignal) => (await output.read(readSignal)) === 1,
    close: () => output.close(),
  };
}

/**
 * A dimmer, a fan, a proportional valve: the duty cycle of one PWM channel, in percent. Off is a duty of 0 on a channel that is enabled: of a
 * disabled one the kernel promises no level (Documentation/driver-api/pwm.rst), and some hardware keeps its last, or shows an inverted load
 * the very level that switches it on. What such a channel shows is therefore unknown, but for one that was never set up since the machine started.
 */
import { retryable } from '../../errors/agent-error.ts';
import type { DriverDeps, OpenDriver } from '../kind/definition.ts';
import type { PwmConfig } from './definition.ts';

const NS_PER_S = 1e9;
/** The hardware rounds to its own clock: differences below this are no difference. */
const TOLERANCE_PERCENT = 0.5;

/** Leaves the channel as it is until the first write. @throws as PwmPort.openChannel. */
export function opener({ chip, channel: number, inverted, frequencyHz }: PwmConfig, { ports }: DriverDeps): OpenDriver {
  const periodNs = Math.round(NS_PER_S / frequencyHz);
  return async (signal) => {
    const channel = await ports.pwm.openChannel(
      { chip, channel: number, polarity: inverted ? 'inversed' : 'normal' },
      signal,
    );
    let wanted: number | undefined;
    return {
      write: async (value, writeSignal) => {
        const percent = Number(value);
        await channel.set({ periodNs, dutyNs: Math.round((periodNs * percent) / 100), enabled: true }, writeSignal);
        wanted = percent;
      },
      read: async (readSignal) => {
        const shown = await channel.read(readSignal);
        const isFresh = shown.periodNs === 0 && !inverted;
        if (!shown.enabled && !isFresh)
          throw retryable('actuators/unknown-level', 'the channel is disabled, and shows any level');
        const percent = shown.periodNs > 0 ? (100 * shown.dutyNs) / shown.periodNs : 0;
        return wanted !== undefined && Math.abs(percent - wanted) <= TOLERANCE_PERCENT ? wanted : percent;
      },
      close: () => channel.close(),
    };
  };
}

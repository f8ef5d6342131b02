/** A dimmer, a fan, a proportional valve: the duty cycle of one PWM channel, in percent. */
import type { ActuatorConfigOf } from '../config/agent-config.ts';
import type { PwmPort } from '../hardware/pwm-port.ts';
import type { ActuatorDriver } from './actuator.ts';

const NS_PER_S = 1e9;
/** The hardware rounds to its own clock: differences below this are no difference. */
const TOLERANCE_PERCENT = 0.5;

/** Leaves the channel as it is until the first write. @throws as PwmPort.openChannel. */
export async function openPwm(config: ActuatorConfigOf<'pwm'>, pwm: PwmPort, signal: AbortSignal): Promise<ActuatorDriver> {
  const { chip, channel: number, inverted, frequencyHz } = config;
  const channel = await pwm.openChannel({ chip, channel: number, polarity: inverted ? 'inversed' : 'normal' }, signal);
  const periodNs = Math.round(NS_PER_S / frequencyHz);
  let wanted: number | undefined;
  return {
    write: async (value, writeSignal) => {
      const percent = Number(value);
      await channel.set({ periodNs, dutyNs: Math.round((periodNs * percent) / 100), enabled: percent > 0 }, writeSignal);
      wanted = percent;
    },
    read: async (readSignal) => {
      const shown = await channel.read(readSignal);
      const percent = shown.enabled && shown.periodNs > 0 ? (100 * shown.dutyNs) / shown.periodNs : 0;
      return wanted !== undefined && Math.abs(percent - wanted) <= TOLERANCE_PERCENT ? wanted : percent;
    },
    close: () => channel.close(),
  };
}

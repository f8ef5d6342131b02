/** PWM channels: a period and the part of it that is high. */

/** A chip by its number N of /sys/class/pwm/pwmchipN, which another kernel may give to another chip; or by the name of its device. */
export type PwmChip = number | string;

export interface PwmRequest {
  readonly chip: PwmChip;
  readonly channel: number;
  /** Default `normal`; `inversed` where the hardware can. Taken up with the first `set`. */
  readonly polarity?: 'normal' | 'inversed';
}

export interface PwmState {
  readonly periodNs: number;
  /** How much of the period is active; from 0 to periodNs. */
  readonly dutyNs: number;
  /** Disabled, a channel's level is whatever its driver makes of it; only an enabled one with a duty of 0 is off for certain. */
  readonly enabled: boolean;
}

export interface PwmChannel {
  /** @throws AgentError `hardware/pwm-failed` (retry). */
  set(state: PwmState, signal: AbortSignal): Promise<void>;
  /** Returns the state of the hardware. @throws AgentError `hardware/pwm-failed` (retry). */
  read(signal: AbortSignal): Promise<PwmState>;
  /** Leaves the channel as it is and gives it back. Idempotent. */
  close(): Promise<void>;
}

export interface PwmPort {
  /** @throws AgentError `hardware/pwm-no-channel`, `hardware/pwm-busy`, `hardware/no-permission` (all retry). */
  openChannel(request: PwmRequest, signal: AbortSignal): Promise<PwmChannel>;
  /** Each chip with how many channels it has. */
  list(signal: AbortSignal): Promise<readonly { readonly chip: PwmChip; readonly channels: number }[]>;
  /** Idempotent. */
  close(): Promise<void>;
}

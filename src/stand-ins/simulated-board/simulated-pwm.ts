/** PWM channels that keep what they were set to, and write it into the record. */
import type { PwmRequest, PwmState } from '../../hardware/pwm-port.ts';
import type { BoardConfig } from './board-config.ts';
import { type BoardContext, boardFault } from './simulated-part.ts';

export interface HeldChannel {
  set(state: PwmState): void;
  read(): PwmState;
  release(): void;
}

const OFF: PwmState = { periodNs: 0, dutyNs: 0, enabled: false };

export class SimulatedPwm {
  readonly #context: BoardContext;
  readonly #chips: ReadonlyMap<PwmRequest['chip'], number>;
  readonly #states = new Map<string, PwmState>();
  readonly #held = new Set<string>();

  constructor(chips: BoardConfig['pwm'], context: BoardContext) {
    this.#context = context;
    this.#chips = new Map(chips.map(({ chip, channels }) => [chip, channels]));
  }

  /** @throws AgentError `hardware/pwm-no-channel` or `hardware/pwm-busy` (retry). */
  open({ chip, channel }: PwmRequest): HeldChannel {
    const id = `pwmchip${chip}:${channel}`;
    const channels = this.#chips.get(chip);
    if (channels === undefined || channel >= channels)
      throw boardFault('hardware/pwm-no-channel', `the simulated board has no PWM channel ${id}`);
    if (this.#held.has(id)) throw boardFault('hardware/pwm-busy', `PWM channel ${id} is in use`);
    this.#held.add(id);
    return {
      set: ({ periodNs, dutyNs, enabled }) => {
        if (dutyNs < 0 || dutyNs > periodNs)
          throw boardFault('hardware/pwm-failed', `a duty of ${dutyNs} ns does not fit into ${periodNs} ns`);
        const before = this.#states.get(id) ?? OFF;
        const same = before.periodNs === periodNs && before.dutyNs === dutyNs && before.enabled === enabled;
        this.#states.set(id, { periodNs, dutyNs, enabled });
        this.#context.record.add(same ? 'written' : 'moved', id, id, { periodNs, dutyNs, enabled });
      },
      read: () => this.#states.get(id) ?? OFF,
      release: () => this.#held.delete(id),
    };
  }

  list(): BoardConfig['pwm'] {
    return [...this.#chips].map(([chip, channels]) => ({ chip, channels }));
  }
}

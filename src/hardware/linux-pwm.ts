/**
 * PWM through sysfs. The kernel judges every single write, so the order of the writes matters: never a duty above the period, a polarity only
 * while the channel is disabled, and before Linux 6.11 only when it has a period, which a fresh channel does not.
 */
import { constants } from 'node:fs';
import { access, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { retryable, systemCode } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { hardwareFault } from './linux-faults.ts';
import type { PwmChannel, PwmPort, PwmRequest, PwmState } from './pwm-port.ts';
import { TurnQueues, type TurnRank } from './turn-queue.ts';

export interface LinuxPwmDeps {
  readonly clock: Clock;
  /** Normally /sys/class/pwm. */
  readonly classFolder?: string;
  /** How an attribute is written; default: as a file. */
  readonly put?: Put;
}

type Put = (file: string, value: string) => Promise<void>;
type InTurn = <T>(work: () => Promise<T>) => Promise<T>;
type Polarity = NonNullable<PwmRequest['polarity']>;

/** A channel as the kernel shows it. */
interface Shown extends PwmState {
  readonly polarity: string;
}

/** udev sets the group of an exported channel a moment after it appears. */
const UDEV = { tries: 20, pauseMs: 50 };

export class LinuxPwm implements PwmPort {
  readonly #clock: Clock;
  readonly #classFolder: string;
  readonly #put: Put;
  readonly #held = new Set<string>();
  /** Queues by chip: its channels hang together. */
  readonly #queues = new TurnQueues();

  constructor(deps: LinuxPwmDeps) {
    this.#clock = deps.clock;
    this.#classFolder = deps.classFolder ?? '/sys/class/pwm';
    this.#put = deps.put ?? writeFile;
  }

  async openChannel({ chip, channel, polarity = 'normal' }: PwmRequest, signal: AbortSignal): Promise<PwmChannel> {
    const what = `PWM channel ${channel} of ${typeof chip === 'number' ? `pwmchip${chip}` : chip}`;
    const chipFolder = join(
      this.#classFolder,
      typeof chip === 'number' ? `pwmchip${chip}` : await this.#chipOf(chip, what),
    );
    const folder = join(chipFolder, `pwm${channel}`);
    if (this.#held.has(folder)) throw retryable('hardware/pwm-busy', `${what} is already in use by this agent`);
    this.#held.add(folder);
    const queue = this.#queues.at(chipFolder);
    const inTurn: InTurn = (work) => queue.run(work, { what: `opening ${what}`, rank: 'movement' }, signal);
    try {
      await inTurn(() => this.#checkChannel(chipFolder, channel, what));
      await this.#export(chipFolder, channel, inTurn, signal);
    } catch (cause) {
      this.#held.delete(folder);
      if (systemCode(cause) === 'EBUSY')
        throw retryable('hardware/pwm-busy', `${what} is held by a kernel driver`, cause);
      throw hardwareFault('pwm', 'hardware/pwm-failed', `opening ${what}`, cause);
    }
    const act = <T>(doing: string, rank: TurnRank, work: () => Promise<T>, actSignal: AbortSignal): Promise<T> => {
      const failed = (cause: unknown): never => {
        throw hardwareFault('pwm', 'hardware/pwm-failed', `${doing} ${what}`, cause);
      };
      return queue.run(() => work().catch(failed), { what: `${doing} ${what}`, rank }, actSignal);
    };
    return {
      set: (state, setSignal) => {
        const rank = state.enabled && state.dutyNs > 0 ? 'movement' : 'off';
        return act('setting', rank, () => this.#write(folder, state, polarity), setSignal);
      },
      read: (readSignal) => act('reading', 'reading', () => readState(folder, polarity), readSignal),
      close: async () => {
        this.#held.delete(folder);
      },
    };
  }

  async list(_signal: AbortSignal): Promise<readonly { readonly chip: number; readonly channels: number }[]> {
    const names = await this.#chipNames();
    const channelsOf = async (name: string): Promise<number> =>
      Number(await text(join(this.#classFolder, name), 'npwm'));
    const chips = names.map(async (name) => ({ chip: Number(name.slice(7)), channels: await channelsOf(name) }));
    return (await Promise.all(chips)).sort((a, b) => a.chip - b.chip);
  }

  async close(): Promise<void> {
    this.#held.clear();
  }

  async #chipNames(): Promise<readonly string[]> {
    return (await readdir(this.#classFolder).catch(() => [])).filter((name) => /^pwmchip\d+$/.test(name));
  }

  /** The number that this kernel gave to a device's chip: `device` links to the device's own folder. */
  async #chipOf(device: string, what: string): Promise<string> {
    const found = (await this.#chipNames()).map(async (name) => {
      const link = await realpath(join(this.#classFolder, name, 'device')).catch(() => '');
      return { name, device: basename(link) };
    });
    const chips = await Promise.all(found);
    const [chip, another] = chips.filter((one) => one.device === device);
    if (chip !== undefined && another === undefined) return chip.name;
    const reason =
      another === undefined
        ? 'the kernel shows no PWM chip of this device'
        : 'several chips are of this device; use a number';
    const there = chips.map((one) => `${one.device} (${one.name})`).join(', ');
    throw retryable('hardware/pwm-no-channel', `${what}: ${reason}; there is ${there === '' ? 'none' : there}`);
  }

  async #checkChannel(chipFolder: string, channel: number, what: string): Promise<void> {
    const channels = await text(chipFolder, 'npwm').catch(() => undefined);
    if (channels === undefined) throw retryable('hardware/pwm-no-channel', `${what}: the kernel shows no such chip`);
    if (channel >= Number(channels)) throw retryable('hardware/pwm-no-channel', `${what}: the chip has ${channels}`);
  }

  /** Others have their turn while udev takes its time. */
  async #export(chipFolder: string, channel: number, inTurn: InTurn, signal: AbortSignal): Promise<void> {
    const check = async (): Promise<true> => {
      await inTurn(() => access(join(chipFolder, `pwm${channel}`, 'duty_cycle'), constants.W_OK));
      return true;
    };
    const isReady = (): Promise<boolean> => check().catch(() => false);
    if (await isReady()) return;
    await inTurn(() => this.#put(join(chipFolder, 'export'), String(channel)));
    for (let attempt = 0; attempt < UDEV.tries && !(await isReady()); attempt += 1)
      await this.#clock.sleep(UDEV.pauseMs, signal);
    await check();
  }

  async #write(folder: string, { periodNs, dutyNs, enabled }: PwmState, polarity: Polarity): Promise<void> {
    const put = (file: string, value: string): Promise<void> => this.#put(join(folder, file), value);
    const current = await shownIn(folder);
    const turns = current.polarity !== polarity;
    let isEnabled = current.enabled;
    if (isEnabled && (turns || !enabled)) {
      await put('enable', '0');
      isEnabled = false;
    }
    if (periodNs < current.periodNs) {
      await put('duty_cycle', String(Math.min(dutyNs, current.periodNs)));
      await put('period', String(periodNs));
    } else {
      if (periodNs !== current.periodNs) await put('period', String(periodNs));
      await put('duty_cycle', String(dutyNs));
    }
    if (turns) await put('polarity', polarity);
    if (enabled && !isEnabled) await put('enable', '1');
  }
}

/** In the polarity that is wanted: in the other one, what is active there is inactive here. */
async function readState(folder: string, polarity: Polarity): Promise<PwmState> {
  const { polarity: found, ...state } = await shownIn(folder);
  return found === polarity ? state : { ...state, dutyNs: state.periodNs - state.dutyNs };
}

async function shownIn(folder: string): Promise<Shown> {
  const read = (file: string): Promise<string> => text(folder, file);
  // One after the other: reads that hang would take one thread of the pool each.
  const [periodNs, dutyNs] = [Number(await read('period')), Number(await read('duty_cycle'))];
  return { periodNs, dutyNs, enabled: (await read('enable')) === '1', polarity: await read('polarity') };
}

async function text(folder: string, file: string): Promise<string> {
  return (await readFile(join(folder, file), 'utf8')).trim();
}

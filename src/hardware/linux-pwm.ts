/** PWM through sysfs. The kernel refuses a duty above the period at every single write, so the order of the writes matters. */
import { constants } from 'node:fs';
import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError, systemCode } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import { withinDeadline } from './deadline.ts';
import { hardwareFault } from './linux-faults.ts';
import type { PwmChannel, PwmPort, PwmRequest, PwmState } from './pwm-port.ts';

export interface LinuxPwmDeps {
  readonly clock: Clock;
  /** Normally /sys/class/pwm. */
  readonly classFolder?: string;
}

/** udev sets the group of an exported channel a moment after it appears. */
const UDEV = { tries: 20, pauseMs: 50 };

export class LinuxPwm implements PwmPort {
  readonly #clock: Clock;
  readonly #classFolder: string;
  readonly #held = new Set<string>();

  constructor(deps: LinuxPwmDeps) {
    this.#clock = deps.clock;
    this.#classFolder = deps.classFolder ?? '/sys/class/pwm';
  }

  async openChannel({ chip, channel, polarity }: PwmRequest, signal: AbortSignal): Promise<PwmChannel> {
    const what = `PWM channel ${channel} of pwmchip${chip}`;
    const chipFolder = join(this.#classFolder, `pwmchip${chip}`);
    const folder = join(chipFolder, `pwm${channel}`);
    if (this.#held.has(folder)) throw new AgentError('hardware/pwm-busy', `${what} is already in use by this agent`, { recovery: 'retry' });
    this.#held.add(folder);
    try {
      await this.#checkChannel(chipFolder, channel, what);
      await this.#export(chipFolder, folder, channel, signal);
      // Polarity can only change while the channel is off; a channel that is on already keeps what it has.
      if (polarity !== undefined && (await text(folder, 'polarity')) !== polarity) await put(folder, 'polarity', polarity);
    } catch (cause) {
      this.#held.delete(folder);
      if (systemCode(cause) === 'EBUSY')
        throw new AgentError('hardware/pwm-busy', `${what} is held by a kernel driver`, { recovery: 'retry', cause });
      throw hardwareFault('pwm', 'hardware/pwm-failed', `opening ${what}`, cause);
    }
    return {
      set: (state, setSignal) =>
        withinDeadline(
          write(folder, state).catch((cause: unknown) => failed(`setting ${what}`, cause)),
          `setting ${what}`,
          setSignal,
        ),
      read: (readSignal) =>
        withinDeadline(
          readState(folder).catch((cause: unknown) => failed(`reading ${what}`, cause)),
          `reading ${what}`,
          readSignal,
        ),
      close: async () => {
        this.#held.delete(folder);
      },
    };
  }

  async list(_signal: AbortSignal): Promise<readonly { readonly chip: number; readonly channels: number }[]> {
    const names = (await readdir(this.#classFolder).catch(() => [])).filter((name) => /^pwmchip\d+$/.test(name));
    const chips = names.map(async (name) => ({
      chip: Number(name.slice(7)),
      channels: Number(await text(join(this.#classFolder, name), 'npwm')),
    }));
    return (await Promise.all(chips)).sort((a, b) => a.chip - b.chip);
  }

  async close(): Promise<void> {
    this.#held.clear();
  }

  async #checkChannel(chipFolder: string, channel: number, what: string): Promise<void> {
    const channels = await text(chipFolder, 'npwm').catch(() => undefined);
    if (channels === undefined)
      throw new AgentError('hardware/pwm-no-channel', `${what}: the kernel shows no such chip`, { recovery: 'retry' });
    if (channel >= Number(channels))
      throw new AgentError('hardware/pwm-no-channel', `${what}: the chip has ${channels}`, { recovery: 'retry' });
  }

  async #export(chipFolder: string, folder: string, channel: number, signal: AbortSignal): Promise<void> {
    const ready = (): Promise<boolean> =>
      access(join(folder, 'duty_cycle'), constants.W_OK).then(
        () => true,
        () => false,
      );
    if (await ready()) return;
    await put(chipFolder, 'export', String(channel));
    for (let attempt = 0; attempt < UDEV.tries && !(await ready()); attempt += 1) await this.#clock.sleep(UDEV.pauseMs, signal);
    await access(join(folder, 'duty_cycle'), constants.W_OK);
  }
}

async function write(folder: string, { periodNs, dutyNs, enabled }: PwmState): Promise<void> {
  const current = await readState(folder);
  if (!enabled && current.enabled) await put(folder, 'enable', '0');
  if (periodNs < current.periodNs) {
    await put(folder, 'duty_cycle', String(Math.min(dutyNs, current.periodNs)));
    await put(folder, 'period', String(periodNs));
  } else {
    if (periodNs !== current.periodNs) await put(folder, 'period', String(periodNs));
    await put(folder, 'duty_cycle', String(dutyNs));
  }
  if (enabled && !current.enabled) await put(folder, 'enable', '1');
}

async function readState(folder: string): Promise<PwmState> {
  const [periodNs, dutyNs, enabled] = await Promise.all([text(folder, 'period'), text(folder, 'duty_cycle'), text(folder, 'enable')]);
  return { periodNs: Number(periodNs), dutyNs: Number(dutyNs), enabled: enabled === '1' };
}

async function text(folder: string, file: string): Promise<string> {
  return (await readFile(join(folder, file), 'utf8')).trim();
}

async function put(folder: string, file: string, value: string): Promise<void> {
  await writeFile(join(folder, file), value);
}

function failed(what: string, cause: unknown): never {
  throw hardwareFault('pwm', 'hardware/pwm-failed', what, cause);
}

/**
 * The real GPIO port: the kernel's character device, or sysfs (onoff) where the configuration asks for it. Sysfs has no bias, debounce or drive, and
 * loses edges that come faster than the event loop turns.
 */
import { AgentError, hasCode, retryable } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type {
  GpioInput,
  GpioOutput,
  GpioPort,
  InputRequest,
  Level,
  LineDescription,
  LineReference,
  OutputRequest,
} from './gpio-port.ts';
import { openCharacterDeviceInput, openCharacterDeviceOutput } from './linux-gpio-character-device.ts';
import { describeLines, holderOf, readCharacterDeviceChips } from './linux-gpio-chips.ts';
import { type FoundLine, findLine, type GpioChip, mergeChips, readSysfsChips } from './linux-gpio-lines.ts';
import {
  type Leftover,
  openSysfsInput,
  openSysfsOutput,
  type SysfsGpioDeps,
  sysfsNumber,
  unexportLeftover,
} from './linux-gpio-sysfs.ts';
import { TurnQueues } from './turn-queue.ts';

export type GpioInterface = 'auto' | 'sysfs' | 'character-device';

export interface LinuxGpioDeps {
  readonly clock: Clock;
  /** Default `auto`: the character device. */
  readonly interface?: GpioInterface;
  /** Normally /sys/class/gpio. */
  readonly classFolder?: string;
  /** Normally /dev. */
  readonly deviceFolder?: string;
  readonly loadOnoff?: NonNullable<SysfsGpioDeps['loadOnoff']>;
}

export class LinuxGpio implements GpioPort {
  readonly #deps: LinuxGpioDeps;
  readonly #classFolder: string;
  readonly #deviceFolder: string;
  readonly #open = new Set<GpioInput | GpioOutput>();
  /** Numbers of the lines that are open over sysfs. */
  readonly #sysfsLines = new Set<number>();
  readonly #queues = new TurnQueues();

  constructor(deps: LinuxGpioDeps) {
    this.#deps = deps;
    this.#classFolder = deps.classFolder ?? '/sys/class/gpio';
    this.#deviceFolder = deps.deviceFolder ?? '/dev';
  }

  async openInput(request: InputRequest, signal: AbortSignal): Promise<GpioInput> {
    if (this.#isSysfs) {
      const line = await this.#sysfsLine(request.line);
      if (request.bias !== undefined && request.bias !== 'as-is')
        throw needsCharacterDevice(`bias ${request.bias}`, line);
      return await this.#onSysfs(line, () => openSysfsInput(line, request, this.#sysfsDeps(), signal));
    }
    const line = this.#deviceLine(request.line);
    return await this.#onCharacterDevice(
      line,
      () => openCharacterDeviceInput(this.#deviceFolder, line, request),
      signal,
    );
  }

  async openOutput(request: OutputRequest, signal: AbortSignal): Promise<GpioOutput> {
    if (this.#isSysfs) {
      const line = await this.#sysfsLine(request.line);
      if (request.drive !== undefined && request.drive !== 'push-pull')
        throw needsCharacterDevice(`drive ${request.drive}`, line);
      return await this.#onSysfs(line, () => openSysfsOutput(line, request, this.#sysfsDeps(), signal));
    }
    const line = this.#deviceLine(request.line);
    const open = (leftover?: Leftover): GpioOutput => {
      const keeps = request.initial === 'keep' && leftover?.direction === 'out';
      const initial = keeps ? logical(leftover.level, request.activeLow) : request.initial;
      return openCharacterDeviceOutput(this.#deviceFolder, line, { ...request, initial });
    };
    return await this.#onCharacterDevice(line, open, signal);
  }

  async list(_signal: AbortSignal): Promise<readonly LineDescription[]> {
    const chips = readCharacterDeviceChips(this.#deviceFolder);
    if (chips.length > 0) return chips.flatMap((chip) => describeLines(this.#deviceFolder, chip));
    return (await readSysfsChips(this.#classFolder)).flatMap(describeSysfsLines);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((line) => line.close()));
  }

  get #isSysfs(): boolean {
    return this.#deps.interface === 'sysfs';
  }

  #deviceLine(reference: LineReference): FoundLine {
    return findLine(readCharacterDeviceChips(this.#deviceFolder), reference);
  }

  async #sysfsLine(reference: LineReference): Promise<FoundLine> {
    const chips = await readSysfsChips(this.#classFolder);
    return findLine(mergeChips(chips, readCharacterDeviceChips(this.#deviceFolder)), reference);
  }

  #sysfsDeps(): SysfsGpioDeps {
    const { clock, loadOnoff } = this.#deps;
    const holderOf = async (line: FoundLine): Promise<string | undefined> => this.#characterDeviceHolder(line);
    return { clock, holderOf, queues: this.#queues, ...(loadOnoff && { loadOnoff }) };
  }

  /** sysfs names a chip by its base; the character device knows the holder under its own name for the chip. */
  #characterDeviceHolder(line: FoundLine): string | undefined {
    const names = [line.chip.name, ...line.chip.aliases];
    const twin = readCharacterDeviceChips(this.#deviceFolder).find((chip) => names.includes(chip.name));
    return twin === undefined ? undefined : holderOf(this.#deviceFolder, { chip: twin, offset: line.offset });
  }

  /** onoff takes an exported line over without a word, so two users of one line within this agent are told apart here. */
  async #onSysfs<T extends GpioInput | GpioOutput>(line: FoundLine, open: () => Promise<T>): Promise<T> {
    const number = sysfsNumber(line);
    if (this.#sysfsLines.has(number))
      throw retryable(
        'hardware/gpio-busy',
        `GPIO line ${line.offset} of ${line.chip.label} is held by turnstone itself`,
      );
    this.#sysfsLines.add(number);
    try {
      const opened = await open();
      const close = async (): Promise<void> => {
        this.#sysfsLines.delete(number);
        await opened.close();
      };
      return this.#keep({ ...opened, close });
    } catch (error) {
      this.#sysfsLines.delete(number);
      throw error;
    }
  }

  /** A line that an earlier run of the agent left exported in sysfs is taken back first. */
  async #onCharacterDevice<T extends GpioInput | GpioOutput>(
    line: FoundLine,
    open: (leftover?: Leftover) => T,
    signal: AbortSignal,
  ): Promise<T> {
    try {
      return this.#keep(open());
    } catch (error) {
      const leftover = hasCode(error, 'hardware/gpio-busy') ? await this.#takeBack(line, signal) : undefined;
      if (leftover === undefined) throw error;
      return this.#keep(open(leftover));
    }
  }

  async #takeBack(line: FoundLine, signal: AbortSignal): Promise<Leftover | undefined> {
    const sysfs = mergeChips(await readSysfsChips(this.#classFolder), readCharacterDeviceChips(this.#deviceFolder));
    const chip = sysfs.find(({ aliases }) => aliases.includes(line.chip.name));
    if (chip === undefined) return undefined;
    const number = sysfsNumber({ chip, offset: line.offset });
    if (this.#sysfsLines.has(number)) return undefined;
    const takeBack = (): Promise<Leftover | undefined> => unexportLeftover(this.#classFolder, number);
    return await this.#queues
      .at(chip.name)
      .run(takeBack, { what: `taking back line ${line.offset} of ${chip.label}` }, signal);
  }

  /** Keeps it for `close`, until it is closed by itself. */
  #keep<T extends GpioInput | GpioOutput>(line: T): T {
    const kept: T = {
      ...line,
      close: async () => {
        this.#open.delete(kept);
        await line.close();
      },
    };
    this.#open.add(kept);
    return kept;
  }
}

function logical(physical: Level, activeLow = false): Level {
  return (physical === 1) !== activeLow ? 1 : 0;
}

function needsCharacterDevice(what: string, line: FoundLine): AgentError {
  const where = `line ${line.offset} of ${line.chip.label}`;
  const why = `${what} on ${where} needs the character device; sysfs GPIO cannot set it`;
  return new AgentError('hardware/unsupported', why, { recovery: 'hold' });
}

function describeSysfsLines({ name: chip, label, lines, lineNames }: GpioChip): readonly LineDescription[] {
  return Array.from({ length: lines }, (_, offset) => ({ chip, label, offset, name: lineNames[offset] || undefined }));
}

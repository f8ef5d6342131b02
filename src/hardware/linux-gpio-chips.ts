/** GPIO chips as the character device shows them, through our own addon: what there is, and who holds it. */
import { closeSync, constants, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { nativeAddon } from '../host/native-addon.ts';
import type { LineDescription } from './gpio-port.ts';
import type { FoundLine, GpioChip } from './linux-gpio-lines.ts';

/** GPIO_V2_LINE_FLAG_* of include/uapi/linux/gpio.h. */
export const FLAG = {
  used: 1,
  activeLow: 2,
  input: 4,
  output: 8,
  rising: 16,
  falling: 32,
  openDrain: 64,
  openSource: 128,
  pullUp: 256,
  pullDown: 512,
  biasDisabled: 1024,
} as const;

/** Configuration of a line: GPIO_V2_LINE_FLAG_*, kernel debounce, and the first level of an output. */
export interface LineConfig {
  readonly flags: number;
  readonly debounceUs: number;
  readonly level: number;
}

export interface GpioAddon {
  gpioChipInfo(chipFd: number): { readonly name: string; readonly label: string; readonly lines: number };
  gpioLineInfo(
    chipFd: number,
    offset: number,
  ): { readonly name: string; readonly consumer: string; readonly flags: number };
  gpioRequestLine(
    chipFd: number,
    request: LineConfig & { readonly offset: number; readonly consumer: string; readonly eventBuffer: number },
  ): number;
  gpioConfigureLine(lineFd: number, config: LineConfig): void;
  gpioReadLine(lineFd: number): 0 | 1;
  gpioWriteLine(lineFd: number, level: number): void;
}

export const gpioAddon = (): GpioAddon => nativeAddon<GpioAddon>();

/** The chips under /dev that this user may open. */
export function readCharacterDeviceChips(deviceFolder: string): readonly GpioChip[] {
  return chipNames(deviceFolder).flatMap((name) => {
    try {
      return withChip(deviceFolder, name, (fd) => {
        const { label, lines } = gpioAddon().gpioChipInfo(fd);
        const lineNames = Array.from({ length: lines }, (_, offset) => gpioAddon().gpioLineInfo(fd, offset).name);
        return [{ name, aliases: [], label, lines, lineNames }];
      });
    } catch {
      return []; // Without permission for one chip the others are still of use; opening a line on it names the reason.
    }
  });
}

/** Every line of a chip, with who holds it. */
export function describeLines(deviceFolder: string, chip: GpioChip): readonly LineDescription[] {
  return withChip(deviceFolder, chip.name, (fd) =>
    Array.from({ length: chip.lines }, (_, offset) => {
      const { name, consumer, flags } = gpioAddon().gpioLineInfo(fd, offset);
      const holder = flags & FLAG.used ? consumer || 'the kernel' : undefined;
      return {
        chip: chip.name,
        label: chip.label,
        offset,
        ...(name && { name }),
        ...(holder && { holder }),
        direction: flags & FLAG.output ? 'out' : 'in',
      };
    }),
  );
}

/** Returns the consumer of a line; undefined when there is none or the chip cannot be asked. */
export function holderOf(deviceFolder: string, line: FoundLine): string | undefined {
  try {
    return withChip(deviceFolder, line.chip.name, (fd) => {
      const { consumer, flags } = gpioAddon().gpioLineInfo(fd, line.offset);
      return flags & FLAG.used ? consumer || 'a kernel driver' : undefined;
    });
  } catch {
    return undefined;
  }
}

function chipNames(deviceFolder: string): readonly string[] {
  try {
    return readdirSync(deviceFolder)
      .filter((name) => /^gpiochip\d+$/.test(name))
      .sort((a, b) => Number(a.slice(8)) - Number(b.slice(8)));
  } catch {
    return [];
  }
}

/** Opens the chip for as long as it is used. @throws the system's error. */
export function withChip<T>(deviceFolder: string, name: string, use: (fd: number) => T): T {
  const fd = openSync(join(deviceFolder, name), constants.O_RDWR);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

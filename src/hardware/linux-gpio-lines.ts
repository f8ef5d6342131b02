/**
 * Finds the line a technician means. A chip's base number differs between kernels (0 on old ones, 512 on today's), so nothing here
 * knows a number: chips are read from /sys/class/gpio/gpiochip*\/{label,base,ngpio} and, where it is there, from the character device.
 *
 *   { chip: "pinctrl-bcm2711", offset: 17 }  label or name of the chip, offset on it
 *   "DOOR"                                   name of a line, from the device tree or ACPI
 *   "GPIO17"                                 BCM number of a Raspberry Pi, when no line has that very name
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BCM_NAME, RASPBERRY_PI_LABELS } from '../config/fields/addresses.ts';
import { type AgentError, retryable } from '../errors/agent-error.ts';
import { type LineReference, lineInWords } from './gpio-port.ts';

/** A chip as one of the two kernel interfaces shows it. */
export interface GpioChip {
  /** `gpiochip0`, or `gpiochip512` where only sysfs shows it. */
  readonly name: string;
  /** Other names for it. */
  readonly aliases: readonly string[];
  readonly label: string;
  readonly lines: number;
  /** The number of its first line in sysfs; absent without sysfs GPIO. */
  readonly base?: number;
  /** Names by offset; empty strings for lines without one. */
  readonly lineNames: readonly string[];
}

export interface FoundLine {
  readonly chip: GpioChip;
  readonly offset: number;
}

/** For messages. */
export function inWords({ chip, offset }: FoundLine): string {
  const name = chip.lineNames[offset];
  return `GPIO line ${offset} of ${chip.label}${name ? ` (${name})` : ''}`;
}

/** @throws AgentError `hardware/gpio-no-chip` or `hardware/gpio-no-line` (retry), naming what there is instead. */
export function findLine(chips: readonly GpioChip[], reference: LineReference): FoundLine {
  const words = lineInWords(reference);
  if (chips.length === 0) throw retryable('hardware/gpio-no-chip', `GPIO ${words}: the kernel shows no GPIO chip`);
  if (typeof reference !== 'string') return lineOf(findChip(chips, reference.chip, words), reference.offset, words);

  const named = chips.flatMap((chip) =>
    chip.lineNames.flatMap((name, offset) => (name === reference ? [{ chip, offset }] : [])),
  );
  if (named.length > 1) throw noLine(`GPIO ${words}: ${named.length} lines have that name; say which chip and offset`);
  if (named[0] !== undefined) return named[0];
  const bcm = BCM_NAME.exec(reference)?.[1];
  if (bcm === undefined) throw noLine(`GPIO ${words}: no line has that name; 'turnstone scan gpio' lists them`);
  const header = chips.find((chip) => RASPBERRY_PI_LABELS.has(chip.label));
  if (header === undefined)
    throw noLine(
      `GPIO ${words}: no line has that name, and this board has no Raspberry Pi pin header; chips: ${chipsInWords(chips)}`,
    );
  return lineOf(header, Number(bcm), words);
}

function findChip(chips: readonly GpioChip[], wanted: string, words: string): GpioChip {
  const byName = chips.find((chip) => chip.name === wanted || chip.aliases.includes(wanted));
  if (byName !== undefined) return byName;
  const byLabel = chips.filter((chip) => chip.label === wanted);
  if (byLabel.length > 1) {
    throw retryable(
      'hardware/gpio-no-chip',
      `GPIO ${words}: ${byLabel.length} chips have that label (${byLabel.map((chip) => chip.name).join(', ')}); use the name`,
    );
  }
  if (byLabel[0] === undefined)
    throw retryable('hardware/gpio-no-chip', `GPIO ${words}: no such chip; there is ${chipsInWords(chips)}`);
  return byLabel[0];
}

function lineOf(chip: GpioChip, offset: number, words: string): FoundLine {
  if (!Number.isInteger(offset) || offset < 0 || offset >= chip.lines) {
    throw noLine(`GPIO ${words}: chip ${chip.label} has lines 0 to ${chip.lines - 1}`);
  }
  return { chip, offset };
}

function chipsInWords(chips: readonly GpioChip[]): string {
  return chips.map((chip) => `${chip.label} (${chip.name}, ${chip.lines} lines)`).join(', ');
}

function noLine(message: string): AgentError {
  return retryable('hardware/gpio-no-line', message);
}

/** The chips that sysfs shows; none when the kernel was built without it. @param classFolder normally /sys/class/gpio */
export async function readSysfsChips(classFolder: string): Promise<readonly GpioChip[]> {
  const names = (await readdir(classFolder).catch(() => [])).filter((name) => /^gpiochip\d+$/.test(name));
  const chips = await Promise.all(names.map((name) => readSysfsChip(classFolder, name)));
  return chips.sort((a, b) => (a.base ?? 0) - (b.base ?? 0));
}

async function readSysfsChip(classFolder: string, name: string): Promise<GpioChip> {
  const folder = join(classFolder, name);
  const text = async (file: string): Promise<string> => (await readFile(join(folder, file), 'utf8')).trim();
  const [label, base, lines] = [await text('label'), Number(await text('base')), Number(await text('ngpio'))];
  // The parent device's folder also holds the character device's name of the chip; two banks of one device cannot be told apart there.
  const siblings = (await readdir(join(folder, 'device')).catch(() => [])).filter((entry) =>
    /^gpiochip\d+$/.test(entry),
  );
  const names = await readFile(join(folder, 'device/of_node/gpio-line-names'), 'utf8').catch(() => '');
  const alias = siblings.length === 1 ? siblings : [];
  return { name, aliases: alias, label, lines, base, lineNames: names === '' ? [] : names.split('\0').slice(0, lines) };
}

/** The sysfs view with the line names and chip names that only the character device knows. */
export function mergeChips(sysfs: readonly GpioChip[], characterDevice: readonly GpioChip[]): readonly GpioChip[] {
  return sysfs.map((chip) => {
    const sameLabel = characterDevice.filter(
      (candidate) => candidate.label === chip.label && candidate.lines === chip.lines,
    );
    const twin =
      sameLabel.length === 1
        ? sameLabel[0]
        : characterDevice.find((candidate) => chip.aliases.includes(candidate.name));
    return twin === undefined
      ? chip
      : { ...chip, aliases: [...new Set([...chip.aliases, twin.name])], lineNames: twin.lineNames };
  });
}

import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { findLine, type GpioChip, mergeChips, readSysfsChips } from '../../../src/hardware/linux-gpio-lines.ts';

let root = '';
afterEach(() => rm(root, { recursive: true, force: true }));

/** /sys/class/gpio of a machine. */
async function sysfs(
  chips: readonly { base: number; label: string; lines: number; name?: string; lineNames?: readonly string[] }[],
): Promise<string> {
  root = await mkdtemp(join(tmpdir(), 'turnstone-sysfs-'));
  for (const { base, label, lines, name, lineNames } of chips) {
    const folder = join(root, `gpiochip${base}`);
    const device = join(root, `device-of-${base}`);
    await mkdir(folder);
    await mkdir(join(device, 'of_node'), { recursive: true });
    if (name !== undefined) await mkdir(join(device, name));
    if (lineNames !== undefined) await writeFile(join(device, 'of_node/gpio-line-names'), `${lineNames.join('\0')}\0`);
    await symlink(device, join(folder, 'device'));
    await writeFile(join(folder, 'label'), `${label}\n`);
    await writeFile(join(folder, 'base'), `${base}\n`);
    await writeFile(join(folder, 'ngpio'), `${lines}\n`);
  }
  await writeFile(join(root, 'export'), '');
  return root;
}

const number = (chips: readonly GpioChip[], reference: Parameters<typeof findLine>[1]): number => {
  const { chip, offset } = findLine(chips, reference);
  return (chip.base ?? Number.NaN) + offset;
};

describe('findLine', () => {
  it('translates a pin of a Raspberry Pi 4 through the base of its chip, old kernel or new', async () => {
    for (const base of [0, 512]) {
      const chips = await readSysfsChips(
        await sysfs([{ base, label: 'pinctrl-bcm2711', lines: 58, name: 'gpiochip0' }]),
      );
      expect(number(chips, 'GPIO17')).toBe(base + 17);
      expect(number(chips, 'BCM17')).toBe(base + 17);
      expect(number(chips, { chip: 'pinctrl-bcm2711', offset: 17 })).toBe(base + 17);
      expect(number(chips, { chip: 'gpiochip0', offset: 17 })).toBe(base + 17);
      expect(number(chips, { chip: `gpiochip${base}`, offset: 17 })).toBe(base + 17);
      await rm(root, { recursive: true });
    }
  });

  it('takes the chip with the pin header among several, as on a Raspberry Pi 5', async () => {
    const chips = await readSysfsChips(
      await sysfs([
        { base: 512, label: 'gpio-brcmstb@107d508500', lines: 32 },
        { base: 571, label: 'pinctrl-rp1', lines: 54 },
      ]),
    );
    expect(number(chips, 'GPIO4')).toBe(575);
  });

  it('takes a line of an expander by the label of its chip, and never for a pin of the header', async () => {
    const chips = await readSysfsChips(
      await sysfs([
        { base: 512, label: 'pinctrl-bcm2711', lines: 58 },
        { base: 570, label: 'mcp23017', lines: 16 },
        { base: 586, label: '1-0021', lines: 8 },
      ]),
    );
    expect(number(chips, { chip: 'mcp23017', offset: 3 })).toBe(573);
    expect(number(chips, { chip: '1-0021', offset: 7 })).toBe(593);
    expect(number(chips, 'GPIO3')).toBe(515);
  });

  it('prefers a line of that very name to a BCM number', async () => {
    const chips = await readSysfsChips(
      await sysfs([{ base: 0, label: 'pinctrl-bcm2835', lines: 4, lineNames: ['', 'GPIO3', 'DOOR', ''] }]),
    );
    expect(number(chips, 'GPIO3')).toBe(1);
    expect(number(chips, 'DOOR')).toBe(2);
  });

  it('takes names that only the character device knows', async () => {
    const chips = await readSysfsChips(await sysfs([{ base: 512, label: 'board', lines: 2 }]));
    const merged = mergeChips(chips, [
      { name: 'gpiochip7', aliases: [], label: 'board', lines: 2, lineNames: ['', 'RELAY'] },
    ]);
    expect(number(merged, 'RELAY')).toBe(513);
    expect(number(merged, { chip: 'gpiochip7', offset: 0 })).toBe(512);
  });

  it('says what there is instead of what was asked for', async () => {
    const chips = await readSysfsChips(
      await sysfs([
        { base: 512, label: 'twin', lines: 8 },
        { base: 520, label: 'twin', lines: 8 },
      ]),
    );
    expect(() => findLine(chips, { chip: 'nope', offset: 0 })).toThrow(
      /no such chip; there is twin \(gpiochip512, 8 lines\)/,
    );
    expect(() => findLine(chips, { chip: 'twin', offset: 0 })).toThrow(
      /2 chips have that label \(gpiochip512, gpiochip520\); use the name/,
    );
    expect(() => findLine(chips, { chip: 'gpiochip512', offset: 8 })).toThrow(/lines 0 to 7/);
    expect(() => findLine(chips, 'GPIO17')).toThrow(/no Raspberry Pi pin header/);
    expect(() => findLine(chips, 'DOOR')).toThrow(/no line has that name/);
    expect(() => findLine([], 'GPIO17')).toThrow(/no GPIO chip/);
  });

  it('finds no chips where the kernel has no sysfs GPIO', async () => {
    root = '/nothing-to-remove';
    expect(await readSysfsChips('/no/such/folder')).toEqual([]);
  });
});

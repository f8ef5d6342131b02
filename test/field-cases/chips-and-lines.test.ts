/** Row 66: chips and lines by names that stay the same, whatever numbers a kernel gives them. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { faultLine } from '../../src/config/fields/config-fault.ts';
import { readConfig } from '../../src/config/read-config.ts';
import { LinuxPwm } from '../../src/hardware/linux-pwm.ts';
import { systemClock } from '../../src/host/clock.ts';

const { signal } = new AbortController();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-names-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** A class folder as sysfs has it: each chip below its device, and a link `device` to that. */
async function classWith(chips: Readonly<Record<string, string>>): Promise<string> {
  const classFolder = await mkdtemp(join(folder, 'class-'));
  for (const [chip, device] of Object.entries(chips)) {
    const chipFolder = join(classFolder, 'devices', device, 'pwm', chip);
    await mkdir(join(chipFolder, 'pwm0'), { recursive: true });
    for (const [file, text] of Object.entries({ npwm: '4', export: '', 'pwm0/period': '1000', 'pwm0/duty_cycle': '0' }))
      await writeFile(join(chipFolder, file), `${text}\n`);
    for (const [file, text] of Object.entries({ enable: '0', polarity: 'normal' }))
      await writeFile(join(chipFolder, 'pwm0', file), `${text}\n`);
    await symlink(join('..', '..', '..', device), join(chipFolder, 'device'));
    await symlink(chipFolder, join(classFolder, chip));
  }
  return classFolder;
}

describe('row 66: a PWM chip by the name of its device', () => {
  it.each<Record<string, string>>([
    { pwmchip0: '1f00098000.pwm', pwmchip1: '1f0009c000.pwm' },
    { pwmchip0: '1f0009c000.pwm', pwmchip2: '1f00098000.pwm' },
  ])('is the same chip by whatever number: %o', async (chips) => {
    const classFolder = await classWith(chips);
    const port = new LinuxPwm({ clock: systemClock, classFolder });
    const channel = await port.openChannel({ chip: '1f00098000.pwm', channel: 0 }, signal);
    await channel.set({ periodNs: 40_000, dutyNs: 10_000, enabled: true }, signal);
    const number = Number(
      Object.entries(chips)
        .find(([, device]) => device === '1f00098000.pwm')?.[0]
        .slice(7),
    );
    await channel.close();
    const byNumber = await port.openChannel({ chip: number, channel: 0 }, signal);
    expect(await byNumber.read(signal)).toEqual({ periodNs: 40_000, dutyNs: 10_000, enabled: true });
    await expect(port.openChannel({ chip: '1f00098000.pwm', channel: 0 }, signal)).rejects.toMatchObject({
      code: 'hardware/pwm-busy',
    });
  });

  it('is named among those that are there when it is not', async () => {
    const port = new LinuxPwm({ clock: systemClock, classFolder: await classWith({ pwmchip0: '1f0009c000.pwm' }) });
    const opening = port.openChannel({ chip: '1f00098000.pwm', channel: 0 }, signal);
    await expect(opening).rejects.toMatchObject({
      code: 'hardware/pwm-no-channel',
      message: expect.stringContaining('there is 1f0009c000.pwm (pwmchip0)'),
    });
  });

  it('is taken by the configuration, beside a number', async () => {
    expect(
      await toldOf(
        '- { name: fan, kind: pwm, chip: 1f00098000.pwm, channel: 0 }',
        '- { name: dim, kind: pwm, chip: 2, channel: 0 }',
      ),
    ).toEqual([]);
    expect(await toldOf('- { name: fan, kind: pwm, chip: "../fan", channel: 0 }')).toEqual([
      expect.stringMatching(/actuators\[0\]\.chip/),
    ]);
  });
});

async function toldOf(...actuators: readonly string[]): Promise<readonly string[]> {
  const file = join(folder, 'turnstone.yaml');
  const head = 'version: 1\nplatform: { url: "https://example.org", accessToken: fixture-token }\nactuators:\n';
  await writeFile(file, head + actuators.map((line) => `  ${line}\n`).join(''), { mode: 0o600 });
  const { faults, warnings } = await readConfig(file, { environment: {} });
  return [...faults, ...warnings].map((fault) => faultLine('f', fault)).filter((line) => line.includes('actuators['));
}

describe('row 66: one GPIO line of two outputs', () => {
  const output = (name: string, line: string): string => `- { name: ${name}, kind: gpio-output, line: ${line} }`;

  it.each([
    '17',
    'GPIO17',
    'gpio17',
    'BCM17',
    'GPIO_17',
    '{ chip: pinctrl-bcm2711, offset: 17 }',
    '{ chip: pinctrl-rp1, offset: 17 }',
  ])('is refused in each spelling: %s', async (line) => {
    expect(await toldOf(output('pump', 'GPIO17'), output('fan', line))).toEqual([
      expect.stringMatching(/actuators\[1\]\.line: two users of one GPIO line GPIO17, .*actuators\[0\] has it already/),
    ]);
  });

  it('is warned of where the kernel’s number of the chip decides', async () => {
    expect(await toldOf(output('pump', '17'), output('fan', '{ chip: gpiochip0, offset: 17 }'))).toEqual([
      expect.stringMatching(
        /actuators\[1\]\.line: on most boards GPIO17: gpiochip0:17, .*actuators\[0\]\.line has it already/,
      ),
    ]);
  });

  it('is no line of another chip, offset or name', async () => {
    expect(
      await toldOf(
        output('pump', 'GPIO17'),
        output('fan', '{ chip: gpiochip1, offset: 17 }'),
        output('light', 'DOOR17'),
      ),
    ).toEqual([]);
  });
});

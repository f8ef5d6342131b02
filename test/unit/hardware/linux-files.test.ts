/** One-wire and PWM are plain files of the kernel; here they lie in a folder of the test's. */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linuxOneWire } from '../../../src/hardware/linux-one-wire.ts';
import { LinuxPwm } from '../../../src/hardware/linux-pwm.ts';
import type { PwmChannel } from '../../../src/hardware/pwm-port.ts';
import { systemClock } from '../../../src/host/clock.ts';

const { signal } = new AbortController();
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-files-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('linuxOneWire', () => {
  it('lists slaves without their master, and reads one', async () => {
    await mkdir(join(folder, '28-00000a1b2c3d'));
    await mkdir(join(folder, 'w1_bus_master1'));
    await writeFile(join(folder, '28-00000a1b2c3d', 'w1_slave'), 'text\n');
    const port = linuxOneWire(folder);
    expect(await port.list(signal)).toEqual(['28-00000a1b2c3d']);
    expect(await port.readSlave('28-00000a1b2c3d', signal)).toBe('text\n');
  });

  it('tells a slave that is gone from an id that is none, and never leaves its folder', async () => {
    const port = linuxOneWire(folder);
    await expect(port.readSlave('28-00000a1b2c3e', signal)).rejects.toThrow(/not on the bus/);
    await expect(port.readSlave('../../etc', signal)).rejects.toMatchObject({ code: 'hardware/one-wire-no-slave' });
    expect(await linuxOneWire(join(folder, 'none')).list(signal)).toEqual([]);
  });
});

describe('LinuxPwm', () => {
  const channel = (): string => join(folder, 'pwmchip0', 'pwm1');
  beforeEach(async () => {
    await mkdir(channel(), { recursive: true });
    await writeFile(join(folder, 'pwmchip0', 'npwm'), '2\n');
    await writeFile(join(folder, 'pwmchip0', 'export'), '');
    for (const [file, text] of Object.entries({ period: '1000000', duty_cycle: '0', enable: '0', polarity: 'normal' }))
      await writeFile(join(channel(), file), `${text}\n`);
  });

  it('sets period, duty and state, and reads them back', async () => {
    const pwm = await new LinuxPwm({ clock: systemClock, classFolder: folder }).openChannel(
      { chip: 0, channel: 1, polarity: 'inversed' },
      signal,
    );
    await pwm.set({ periodNs: 500_000, dutyNs: 125_000, enabled: true }, signal);
    expect(await pwm.read(signal)).toEqual({ periodNs: 500_000, dutyNs: 125_000, enabled: true });
    expect((await readFile(join(channel(), 'polarity'), 'utf8')).trim()).toBe('inversed');
  });

  it('waits with every channel of a chip that hangs, opened anew or not, and switches off first when it answers', async () => {
    await mkdir(join(folder, 'pwmchip0', 'pwm0'));
    await writeFile(join(folder, 'pwmchip0', 'pwm0', 'duty_cycle'), '0\n');
    const duties: string[] = [];
    const hanging: (() => void)[] = [];
    const put = async (file: string, value: string): Promise<void> => {
      if (basename(file) !== 'duty_cycle') return;
      duties.push(value);
      await new Promise<void>((resolve) => hanging.push(resolve));
    };
    const port = new LinuxPwm({ clock: systemClock, classFolder: folder, put });
    const duty = (dutyNs: number) => ({ periodNs: 1_000_000, dutyNs, enabled: true });
    const inTime = { code: 'hardware/deadline', recovery: 'retry' };
    const first = await port.openChannel({ chip: 0, channel: 1 }, signal);
    await expect(first.set(duty(1), AbortSignal.timeout(100))).rejects.toMatchObject(inTime);
    await first.close();
    for (const channel of [0, 1])
      await expect(port.openChannel({ chip: 0, channel }, AbortSignal.timeout(20))).rejects.toMatchObject(inTime);
    expect(duties).toEqual(['1']);
    hanging[0]?.();
    const again = await port.openChannel({ chip: 0, channel: 1 }, signal);
    const all = [again.set(duty(2), signal), again.set(duty(3), signal), again.set(duty(0), signal)];
    for (let at = 1; at <= all.length; at += 1) {
      await expect.poll(() => hanging.length).toBe(at + 1);
      hanging[at]?.();
    }
    await Promise.all(all);
    expect(duties).toEqual(['1', '2', '0', '3']);
  });

  describe('on a kernel before 6.11', () => {
    /** drivers/pwm/core.c and sysfs.c: each write is a whole state that must be valid. */
    const kernelPut = async (file: string, value: string): Promise<void> => {
      const name = basename(file);
      const [periodNs, dutyNs, enabled] = await Promise.all(['period', 'duty_cycle', 'enable'].map(attribute));
      const next = { periodNs: Number(periodNs), dutyNs: Number(dutyNs), enabled: enabled === '1' };
      if (name === 'period') next.periodNs = Number(value);
      if (name === 'duty_cycle') next.dutyNs = Number(value);
      if (name === 'enable') next.enabled = value === '1';
      if (next.periodNs === 0 || next.dutyNs > next.periodNs || (name === 'polarity' && next.enabled))
        throw Object.assign(new Error(`${name} ${value}`), { code: 'EINVAL' });
      levels.push(next);
      await writeFile(file, `${value}\n`);
    };
    const attribute = async (name: string): Promise<string> => (await readFile(join(channel(), name), 'utf8')).trim();
    const showing = async (shown: Readonly<Record<string, string>>): Promise<PwmChannel> => {
      for (const [file, text] of Object.entries(shown)) await writeFile(join(channel(), file), `${text}\n`);
      const port = new LinuxPwm({ clock: systemClock, classFolder: folder, put: kernelPut });
      return await port.openChannel({ chip: 0, channel: 1, polarity: 'inversed' }, signal);
    };
    let levels: { readonly periodNs: number; readonly dutyNs: number; readonly enabled: boolean }[];
    beforeEach(() => {
      levels = [];
    });

    it('turns the polarity of a fresh channel, once it has a period, and before it is enabled', async () => {
      const pwm = await showing({ period: '0', duty_cycle: '0', enable: '0', polarity: 'normal' });
      await pwm.set({ periodNs: 40_000, dutyNs: 0, enabled: true }, signal);
      expect(await attribute('polarity')).toBe('inversed');
      expect(await pwm.read(signal)).toEqual({ periodNs: 40_000, dutyNs: 0, enabled: true });
      expect(levels.at(-2)).toMatchObject({ enabled: false, periodNs: 40_000 });
    });

    it('turns the polarity of a channel that runs, and shows what it means until then', async () => {
      const pwm = await showing({ period: '40000', duty_cycle: '10000', enable: '1', polarity: 'normal' });
      expect(await pwm.read(signal)).toEqual({ periodNs: 40_000, dutyNs: 30_000, enabled: true });
      await pwm.set({ periodNs: 20_000, dutyNs: 15_000, enabled: true }, signal);
      expect([await attribute('polarity'), await pwm.read(signal)]).toEqual([
        'inversed',
        { periodNs: 20_000, dutyNs: 15_000, enabled: true },
      ]);
    });
  });

  it('finds a controller on I2C by the name of its device, whatever number the kernel gave it', async () => {
    const device = join(folder, 'devices', '1-0040');
    await mkdir(device, { recursive: true });
    await symlink(device, join(folder, 'pwmchip0', 'device'));
    const port = new LinuxPwm({ clock: systemClock, classFolder: folder });
    const pwm = await port.openChannel({ chip: '1-0040', channel: 1 }, signal);
    await pwm.set({ periodNs: 500_000, dutyNs: 125_000, enabled: true }, signal);
    expect((await readFile(join(channel(), 'duty_cycle'), 'utf8')).trim()).toBe('125000');
    await expect(port.openChannel({ chip: '1-0041', channel: 0 }, signal)).rejects.toThrow(
      /there is 1-0040 \(pwmchip0\)/,
    );
  });

  it('says what there is when a chip or channel is missing, and refuses a channel twice', async () => {
    const port = new LinuxPwm({ clock: systemClock, classFolder: folder });
    await expect(port.openChannel({ chip: 3, channel: 0 }, signal)).rejects.toMatchObject({
      code: 'hardware/pwm-no-channel',
    });
    await expect(port.openChannel({ chip: 0, channel: 2 }, signal)).rejects.toThrow(/the chip has 2/);
    const held = await port.openChannel({ chip: 0, channel: 1 }, signal);
    await expect(port.openChannel({ chip: 0, channel: 1 }, signal)).rejects.toMatchObject({
      code: 'hardware/pwm-busy',
    });
    await held.close();
    await port.openChannel({ chip: 0, channel: 1 }, signal);
    expect(await port.list(signal)).toEqual([{ chip: 0, channels: 2 }]);
  });
});

/** One-wire and PWM are plain files of the kernel; here they lie in a folder of the test's. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LinuxOneWire } from '../../../src/hardware/linux-one-wire.ts';
import { LinuxPwm } from '../../../src/hardware/linux-pwm.ts';
import { systemClock } from '../../../src/host/clock.ts';

const signal = AbortSignal.timeout(60_000);
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-files-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('LinuxOneWire', () => {
  it('lists slaves without their master, and reads one', async () => {
    await mkdir(join(folder, '28-00000a1b2c3d'));
    await mkdir(join(folder, 'w1_bus_master1'));
    await writeFile(join(folder, '28-00000a1b2c3d', 'w1_slave'), 'text\n');
    const port = new LinuxOneWire(folder);
    expect(await port.list(signal)).toEqual(['28-00000a1b2c3d']);
    expect(await port.readSlave('28-00000a1b2c3d', signal)).toBe('text\n');
  });

  it('tells a slave that is gone from an id that is none, and never leaves its folder', async () => {
    const port = new LinuxOneWire(folder);
    await expect(port.readSlave('28-00000a1b2c3e', signal)).rejects.toThrow(/not on the bus/);
    await expect(port.readSlave('../../etc', signal)).rejects.toMatchObject({ code: 'hardware/one-wire-no-slave' });
    expect(await new LinuxOneWire(join(folder, 'none')).list(signal)).toEqual([]);
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

  it('says what there is when a chip or channel is missing, and refuses a channel twice', async () => {
    const port = new LinuxPwm({ clock: systemClock, classFolder: folder });
    await expect(port.openChannel({ chip: 3, channel: 0 }, signal)).rejects.toMatchObject({ code: 'hardware/pwm-no-channel' });
    await expect(port.openChannel({ chip: 0, channel: 2 }, signal)).rejects.toThrow(/the chip has 2/);
    const held = await port.openChannel({ chip: 0, channel: 1 }, signal);
    await expect(port.openChannel({ chip: 0, channel: 1 }, signal)).rejects.toMatchObject({ code: 'hardware/pwm-busy' });
    await held.close();
    await port.openChannel({ chip: 0, channel: 1 }, signal);
    expect(await port.list(signal)).toEqual([{ chip: 0, channels: 2 }]);
  });
});

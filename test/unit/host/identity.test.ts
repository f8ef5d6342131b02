import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type BoardIdentity, isOtherBoard, readIdentity, withNewMarks } from '../../../src/host/identity.ts';

async function board(files: Readonly<Record<string, string>>): Promise<{ root: string; runFolder: string }> {
  const root = await mkdtemp(join(tmpdir(), 'turnstone-identity-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return { root, runFolder: join(root, 'run/turnstone') };
}

const ETH0 = {
  'sys/class/net/eth0/address': 'DC:A6:32:01:02:03\n',
  'sys/class/net/eth0/type': '1',
  'sys/class/net/eth0/addr_assign_type': '0',
};

describe('the identity of a board', () => {
  it('has the serial number of the device tree, without its zero byte', async () => {
    expect((await readIdentity(await board({ 'proc/device-tree/serial-number': '10000000abcdef01\0' }))).serial).toBe(
      '10000000abcdef01',
    );
  });

  it('has the real one of the serial numbers of DMI that root left before the start', async () => {
    const files = {
      'sys/class/dmi/id/product_serial': 'System Serial Number\n',
      'sys/class/dmi/id/board_serial': 'C02XK1\n',
      'run/turnstone/x': '',
    };
    const sources = await board(files);
    const script = join(import.meta.dirname, '../../../systemd/leave-identity');
    await promisify(execFile)('sh', [script], { env: { ...process.env, TURNSTONE_ROOT: sources.root } });
    await rm(join(sources.root, 'sys'), { recursive: true });
    expect((await readIdentity(sources)).serial).toBe('C02XK1');
    expect((await stat(join(sources.runFolder, 'identity/board_serial'))).mode & 0o044).toBe(0o044);
  });

  it('root writes through nothing that the service puts in the way while it is being left', async () => {
    const sources = await board({
      'sys/class/dmi/id/product_serial': 'SN-1\n',
      'run/turnstone/x': '',
      'etc/shadow': 'secret\n',
      'bin/x': '',
    });
    const folder = join(sources.runFolder, 'identity');
    const victim = join(sources.root, 'etc/shadow');
    // In the middle of the script the folder is another one, with a link in it.
    const meanwhile = `#!/bin/sh\nrm -rf '${folder}'\nmkdir '${folder}'\nln -s '${victim}' '${folder}/product_serial'\nexec /usr/bin/tr "$@"\n`;
    await writeFile(join(sources.root, 'bin/tr'), meanwhile, { mode: 0o755 });
    const script = join(import.meta.dirname, '../../../systemd/leave-identity');
    const PATH = `${join(sources.root, 'bin')}:${process.env.PATH}`;
    await promisify(execFile)('sh', [script], { env: { ...process.env, PATH, TURNSTONE_ROOT: sources.root } });
    expect(await readFile(victim, 'utf8')).toBe('secret\n');
    // Nor is anything of it left behind beside the folder.
    expect(await readdir(join(sources.root, 'run'))).toEqual(['turnstone']);
  });

  it.each([
    'To Be Filled By O.E.M.',
    'Default string',
    'System Serial Number',
    '0',
    '00000000',
    'None',
    '0123456789',
    'Not Specified',
    'N/A',
  ])('takes %j for no serial number', async (text) => {
    const files = { 'sys/class/dmi/id/product_serial': text, 'sys/class/dmi/id/board_serial': 'BRD-77' };
    expect((await readIdentity(await board(files))).serial).toBe('BRD-77');
    expect((await readIdentity(await board({ 'sys/class/dmi/id/product_serial': text }))).serial).toBeUndefined();
  });

  it('has the address of the soldered wired interface, whatever else is plugged in', async () => {
    const files = {
      ...ETH0,
      'sys/class/net/eth0/device/uevent': 'DRIVER=bcmgenet',
      'sys/class/net/eth1/address': '00:11:22:33:44:55',
      'sys/class/net/eth1/type': '1',
      'sys/class/net/eth1/addr_assign_type': '0',
      'sys/class/net/eth1/device/uevent': 'DEVTYPE=usb_interface',
      'sys/class/net/docker0/address': '02:42:00:00:00:01',
      'sys/class/net/docker0/type': '1',
      'sys/class/net/docker0/addr_assign_type': '3',
      'sys/class/net/lo/address': '00:00:00:00:00:00',
      'sys/class/net/lo/type': '772',
      'sys/class/net/wlan0/address': '00:99:22:33:44:55',
      'sys/class/net/wlan0/type': '1',
      'sys/class/net/wlan0/addr_assign_type': '0',
      'sys/class/net/wlan0/device/uevent': 'DRIVER=brcmfmac',
      'sys/class/net/wlan0/wireless/x': '',
    };
    expect((await readIdentity(await board(files))).mac).toBe('dca632010203');
  });

  it('knows a board without a serial number by any interface that is soldered on, as one of them may be late', async () => {
    const wlan0 = {
      'sys/class/net/wlan0/address': '00:99:22:33:44:55',
      'sys/class/net/wlan0/type': '1',
      'sys/class/net/wlan0/addr_assign_type': '0',
      'sys/class/net/wlan0/device/uevent': 'DRIVER=brcmfmac',
      'sys/class/net/wlan0/wireless/x': '',
    };
    const eth0 = { ...ETH0, 'sys/class/net/eth0/device/uevent': 'DRIVER=bcmgenet' };
    const usb = { ...wlan0, 'sys/class/net/wlan0/device/uevent': 'DEVTYPE=usb_interface' };
    const read = async (files: Readonly<Record<string, string>>): Promise<BoardIdentity> =>
      readIdentity(await board(files));
    const [both, late, before, withUsb] = [
      await read({ ...eth0, ...wlan0 }),
      await read(wlan0),
      await read(eth0),
      await read({ ...eth0, ...usb }),
    ];
    expect([both.mac, both.otherMacs, late.mac]).toEqual(['dca632010203', ['009922334455'], '009922334455']);
    expect([isOtherBoard(both, late), isOtherBoard(late, both), isOtherBoard(before, late)]).toEqual([
      false,
      false,
      true,
    ]);
    // An interface that can be plugged into another board says nothing.
    expect([withUsb.otherMacs, isOtherBoard(withUsb, late)]).toEqual([undefined, true]);
    expect(withNewMarks(late, both)).toMatchObject({ mac: '009922334455', otherMacs: ['dca632010203'] });
    expect(isOtherBoard(withNewMarks(late, both), before)).toBe(false);
    expect(withNewMarks(both, late)).toBe(both);
    expect(withNewMarks(late, { ...late, serial: 'S1' })).toMatchObject({ mac: '009922334455', serial: 'S1' });
  });

  it('derives the machine id as systemd does for an application', async () => {
    const machineId = '0123456789abcdef0123456789abcdef';
    const found = (await readIdentity(await board({ 'etc/machine-id': `${machineId}\n` }))).machineId;
    const plain = createHmac('sha256', Buffer.from(machineId, 'hex'))
      .update(Buffer.from('5d1f0a3c4b9e4f6f9c2a7e8b60d4c1aa', 'hex'))
      .digest('hex');
    expect(found).toMatch(/^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
    expect(found?.slice(0, 12)).toBe(plain.slice(0, 12));
    expect(found).not.toContain(machineId.slice(0, 12));
  });

  it('leaves out what the board has not', async () => {
    expect(await readIdentity(await board({ 'etc/hostname': 'gw-7\n' }))).toEqual({ hostname: 'gw-7' });
  });
});

describe('another board', () => {
  it.each([
    [{ serial: 'a' }, { serial: 'b' }, true],
    [{ serial: 'a', mac: '1' }, { serial: 'a', mac: '2' }, false],
    [{ mac: '1' }, { mac: '2' }, true],
    [{ serial: 'a', mac: '1' }, { mac: '1' }, false],
    [{ serial: 'a' }, { mac: '1' }, false],
    [{ machineId: 'a' }, { machineId: 'b' }, false],
  ])('%j against %j is %s', (one, other, expected) => {
    expect(isOtherBoard(one, other)).toBe(expected);
  });
});

import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { MachineFacts, parseUnit } from '../../../src/host/machine-facts.ts';

let root: string;
let machine: MachineFacts;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'turnstone-machine-'));
  machine = new MachineFacts({ clock: systemClock, root });
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function plant(path: string, content: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), `${content}\n`);
}

describe('the machine', () => {
  it('knows its users, with all their groups', async () => {
    await plant('etc/passwd', 'root:x:0:0:root:/root:/bin/bash\nturnstone:x:998:996::/:/usr/sbin/nologin');
    await plant(
      'etc/group',
      'root:x:0:\ndialout:x:20:someone,turnstone\ni2c:x:44:turnstones\ngpio:x:45:turnstone\nturnstone:x:996:',
    );
    expect(await machine.user('turnstone')).toEqual({ name: 'turnstone', uid: 998, groupIds: [996, 20, 45] });
    expect(await machine.user('nobody')).toBeUndefined();
  });

  it('knows who may do what with a file', async () => {
    await plant('dev/ttyUSB0', '');
    await chmod(join(root, 'dev/ttyUSB0'), 0o660);
    await plant('etc/group', `dialout:x:${process.getgid?.()}:`);
    expect(await machine.file('/dev/ttyUSB0')).toMatchObject({ mode: 0o660, group: 'dialout' });
    expect(await machine.file('/dev/ttyUSB1')).toBeUndefined();
  });

  it('finds the mount that holds a folder, the last one that covers it', async () => {
    await plant(
      'proc/self/mounts',
      '/dev/sda1 / ext4 rw,relatime 0 0\n/dev/sdb1 /var ext4 rw 0 0\n/dev/sdc1 /var/lib ext4 ro,noatime,commit=60 0 0\ntmpfs /variant tmpfs rw 0 0',
    );
    await plant('sys/fs/ext4/sda1/errors_count', '3');
    expect(await machine.mount('/etc')).toEqual({ device: '/dev/sda1', type: 'ext4', readOnly: false, errors: 3 });
    expect(await machine.mount('/var/lib/turnstone')).toMatchObject({
      device: '/dev/sdc1',
      readOnly: true,
      commitS: 60,
    });
    expect(await machine.mount('/var')).toMatchObject({ device: '/dev/sdb1' });
    expect(await machine.mount('/variant/x')).toMatchObject({ type: 'tmpfs' });
  });

  it('names the processes that have a file open, also by another of its names', async () => {
    await plant('dev/ttyACM0', '');
    await plant('dev/ttyS0', '');
    await mkdir(join(root, 'dev/serial/by-id'), { recursive: true });
    await symlink('../../ttyACM0', join(root, 'dev/serial/by-id/usb-gps'));
    for (const [pid, name, opened] of [
      ['812', 'gpsd', ['dev/ttyACM0', 'dev/ttyACM0']],
      ['40', 'agetty', ['dev/ttyS0']],
      ['41', 'bash', ['dev/null']],
    ] as const) {
      await plant(`proc/${pid}/comm`, name);
      await plant(`proc/${pid}/cmdline`, `/usr/sbin/${name}\0-n`);
      await plant(`proc/${pid}/cgroup`, `0::/system.slice/${name}.service`);
      await mkdir(join(root, 'proc', pid, 'fd'));
      for (const [at, path] of opened.entries())
        await symlink(join(root, path), join(root, 'proc', pid, 'fd', `${at}`));
    }
    expect(await machine.holders(['/dev/serial/by-id/usb-gps', '/dev/ttyUSB7'])).toEqual([
      {
        path: '/dev/serial/by-id/usb-gps',
        pid: 812,
        name: 'gpsd',
        command: '/usr/sbin/gpsd\0-n',
        group: '0::/system.slice/gpsd.service',
      },
    ]);
    expect(await machine.holders(['/dev/ttyS0'])).toMatchObject([{ pid: 40, name: 'agetty' }]);
  });

  it('tells how far an eMMC chip is worn, and nothing of disks that do not say', async () => {
    expect(await machine.storageWear()).toBeUndefined();
    await plant('sys/block/sda/size', '100');
    await plant('sys/block/mmcblk0/device/life_time', '0x00 0x00');
    expect(await machine.storageWear()).toBeUndefined();
    await plant('sys/block/mmcblk0/device/life_time', '0x02 0x09');
    expect(await machine.storageWear()).toEqual({ usedPercent: 90, spares: 'enough' });
    await plant('sys/block/mmcblk0/device/pre_eol_info', '0x01');
    expect(await machine.storageWear()).toEqual({ usedPercent: 90, spares: 'enough' });
    await plant('sys/block/mmcblk0/device/date', '03/2023');
    expect(await machine.storageWear()).toMatchObject({ usedPercent: 90, madeAtMs: Date.UTC(2023, 2) });
    await plant('sys/block/mmcblk0/device/date', 'unknown');
    await plant('sys/block/mmcblk1/device/pre_eol_info', '0x03');
    expect(await machine.storageWear()).toEqual({ usedPercent: 90, spares: 'nearly-none' });
  });

  it.each([
    [
      'an IPv4 gateway',
      'net/route',
      'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\neth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0',
      true,
    ],
    [
      'a network without a gateway',
      'net/route',
      'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\neth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0',
      false,
    ],
    [
      'an IPv6 gateway',
      'net/ipv6_route',
      '00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0',
      true,
    ],
    [
      'the unreachable route of loopback',
      'net/ipv6_route',
      '00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo',
      false,
    ],
  ])('tells by %s whether there is a way out', async (_what, file, content, expected) => {
    await plant(`proc/${file}`, content);
    expect(await machine.hasDefaultRoute()).toBe(expected);
  });

  it('tells what memory is left', async () => {
    expect(await machine.memory()).toBeUndefined();
    await plant(
      'proc/meminfo',
      'MemTotal:         949444 kB\nMemFree:           60000 kB\nMemAvailable:     412000 kB',
    );
    expect(await machine.memory()).toEqual({ totalBytes: 949_444 * 1024, availableBytes: 412_000 * 1024 });
  });

  it('understands what systemd says of a unit', () => {
    const said =
      'LoadState=loaded\nActiveState=failed\nUnitFileState=enabled\nResult=exit-code\nNRestarts=4\nExecMainStatus=78\nWatchdogUSec=1min 30s\nUser=turnstone\nDropInPaths=/etc/a.d/x.conf /etc/a.d/y.conf\n';
    expect(parseUnit(said)).toEqual({
      load: 'loaded',
      active: 'failed',
      enabled: 'enabled',
      result: 'exit-code',
      restarts: 4,
      exitCode: 78,
      watchdogMs: 90_000,
      user: 'turnstone',
      dropIns: ['/etc/a.d/x.conf', '/etc/a.d/y.conf'],
    });
    expect(parseUnit('LoadState=not-found\nWatchdogUSec=0\n')).toMatchObject({ load: 'not-found', watchdogMs: 0 });
    expect(parseUnit('WatchdogUSec=infinity\n').watchdogMs).toBe(0);
  });
});

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { HostMetrics, type MetricGroup } from '../../../src/host/host-metrics.ts';

let root = '';
afterEach(() => rm(root, { recursive: true, force: true }));

async function machine(files: Readonly<Record<string, string>>): Promise<void> {
  root = await mkdtemp(join(tmpdir(), 'turnstone-host-'));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

const keys = async (metrics: HostMetrics, group: MetricGroup): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries((await metrics.read(group)).map(({ key, value }) => [key, value]));

describe('HostMetrics', () => {
  it('gives the busy share of the CPU between two reads', async () => {
    await machine({ 'proc/stat': 'cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1\n' });
    const metrics = new HostMetrics({ disks: ['/'], root });
    expect(await keys(metrics, 'cpu')).toEqual({ cpuPercent: 20 });
    await writeFile(join(root, 'proc/stat'), 'cpu  175 0 100 725 100 0 0 0 0 0\n');
    expect(await keys(metrics, 'cpu')).toEqual({ cpuPercent: 75 });
  });

  it('takes what can be freed at once for available memory', async () => {
    await machine({ 'proc/meminfo': 'MemTotal:        1000 kB\nMemFree:          100 kB\nMemAvailable:     250 kB\n' });
    expect(await keys(new HostMetrics({ disks: ['/'], root }), 'memory')).toEqual({
      memoryUsedPercent: 75,
      memoryAvailableBytes: 256_000,
    });
  });

  it('gives the hottest zone, and passes over one without a sensor', async () => {
    await machine({
      'sys/class/thermal/thermal_zone0/temp': '41250\n',
      'sys/class/thermal/thermal_zone1/temp': '55900\n',
      'sys/class/thermal/thermal_zone2/type': 'broken\n',
      'sys/class/thermal/cooling_device0/x': '',
    });
    expect(await keys(new HostMetrics({ disks: ['/'], root }), 'temperature')).toEqual({ temperature: 55.9 });
  });

  it('adds up the network interfaces but the loopback one, or shows those that were asked for', async () => {
    const files = Object.entries({ eth0: [100, 10], wlan0: [20, 2], lo: [999, 999] }).flatMap(([name, [rx, tx]]) => [
      [`sys/class/net/${name}/statistics/rx_bytes`, `${rx}\n`],
      [`sys/class/net/${name}/statistics/tx_bytes`, `${tx}\n`],
    ]);
    await machine(Object.fromEntries(files) as Record<string, string>);
    expect(await keys(new HostMetrics({ disks: ['/'], root }), 'network')).toEqual({
      networkReceivedBytes: 120,
      networkSentBytes: 12,
    });
    expect(await keys(new HostMetrics({ disks: ['/'], interfaces: ['wlan0'], root }), 'network')).toEqual({
      networkReceivedBytes_wlan0: 20,
      networkSentBytes_wlan0: 2,
    });
  });

  it('gives what there is of disks and interfaces when one of them is gone, and fails when nothing is there', async () => {
    await machine({ 'sys/class/net/eth0/statistics/rx_bytes': '7', 'sys/class/net/eth0/statistics/tx_bytes': '8' });
    const gone = join(root, 'unplugged');
    const metrics = new HostMetrics({ disks: [gone, '/'], interfaces: ['wwan0', 'eth0'], root });
    expect(Object.keys(await keys(metrics, 'disk'))).toEqual(['diskUsedPercent_/', 'diskFreeBytes_/']);
    expect(await keys(metrics, 'network')).toEqual({ networkReceivedBytes_eth0: 7, networkSentBytes_eth0: 8 });
    const nothing = new HostMetrics({ disks: [gone], interfaces: ['wwan0'], root });
    for (const group of ['disk', 'network'] as const)
      await expect(nothing.read(group)).rejects.toMatchObject({ code: 'host/no-metrics' });
    expect(await new HostMetrics({ disks: [], interfaces: [], root }).read('disk')).toEqual([]);
    expect((await metrics.read('disk', '/')).map(({ key }) => key)).toEqual(['diskUsedPercent_/', 'diskFreeBytes_/']);
    await expect(metrics.read('disk', gone)).rejects.toMatchObject({ code: 'host/no-metrics' });
  });

  it('reads load, disk, uptime and memory of this very machine', async () => {
    root = '/nothing-to-remove';
    const metrics = new HostMetrics({ disks: ['/', tmpdir()] });
    expect((await keys(metrics, 'load')).load1).toBeGreaterThanOrEqual(0);
    const disk = await keys(metrics, 'disk');
    expect(disk.diskUsedPercent).toBeGreaterThan(0);
    expect(disk.diskUsedPercent).toBeLessThanOrEqual(100);
    expect(disk[`diskFreeBytes_${tmpdir()}`]).toBeGreaterThan(0);
    expect((await keys(metrics, 'uptime')).uptimeS).toBeGreaterThan(0);
    expect((await keys(metrics, 'memory')).memoryUsedPercent).toBeGreaterThan(0);
  });

  it('says which group the machine does not show, as a retriable error', async () => {
    await machine({ 'proc/uptime': 'x' });
    await expect(new HostMetrics({ disks: ['/'], root }).read('temperature')).rejects.toMatchObject({
      code: 'host/no-metrics',
      recovery: 'retry',
    });
  });
});

/**
 * Metrics of the machine: /proc, /sys and statfs. Each group is read by itself, because a hardened service may not see all of
 * them (systemd's ProcSubset=pid hides /proc/stat and /proc/meminfo, for which the kernel's calls behind node:os stand in where they can).
 */
import { readdir, readFile, statfs } from 'node:fs/promises';
import { freemem, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { retryable } from '../errors/agent-error.ts';

export type MetricGroup = 'cpu' | 'load' | 'memory' | 'disk' | 'temperature' | 'network' | 'uptime';

export interface HostMetricsOptions {
  /** Mount points. */
  readonly disks: readonly string[];
  /** Network interfaces; undefined for all but the loopback one, added up. */
  readonly interfaces?: readonly string[];
  /** Normally /. */
  readonly root?: string;
}

export interface Metric {
  readonly key: string;
  readonly value: number;
  readonly unit?: string;
}

export interface HostMetricsSource {
  /**
   * Reads a group: a disk or an interface that is gone costs no other. It never returns while a disk hangs.
   * @param disk the only disk to read. @throws AgentError `host/no-metrics` (retry) when there is none.
   */
  read(group: MetricGroup, disk?: string): Promise<readonly Metric[]>;
}

export class HostMetrics implements HostMetricsSource {
  readonly #options: HostMetricsOptions;
  readonly #root: string;
  #cpuBefore: { readonly busy: number; readonly total: number } | undefined;

  constructor(options: HostMetricsOptions) {
    this.#options = options;
    this.#root = options.root ?? '/';
  }

  async read(group: MetricGroup, disk?: string): Promise<readonly Metric[]> {
    try {
      return await this.#readers[group](disk);
    } catch (cause) {
      throw retryable('host/no-metrics', `the machine does not show its ${group}`, cause);
    }
  }

  readonly #readers: Readonly<Record<MetricGroup, (disk?: string) => Promise<readonly Metric[]>>> = {
    cpu: () => this.#cpu(),
    load: async () =>
      loadavg().map((value, at) => ({ key: ['load1', 'load5', 'load15'][at] ?? '', value: rounded(value, 2) })),
    memory: () => this.#memory(),
    disk: (disk) => this.#disks(disk),
    temperature: () => this.#temperature(),
    network: () => this.#network(),
    uptime: async () => [
      { key: 'uptimeS', value: Math.floor(Number((await this.#text('proc/uptime')).split(' ')[0])), unit: 's' },
    ],
  };

  /** Busy share since the read before; the first one speaks of the time since boot. */
  async #cpu(): Promise<readonly Metric[]> {
    const fields = ((await this.#text('proc/stat')).split('\n')[0] ?? '').trim().split(/\s+/).slice(1, 9).map(Number);
    const total = fields.reduce((sum, jiffies) => sum + jiffies, 0);
    const busy = total - (fields[3] ?? 0) - (fields[4] ?? 0); // idle, iowait
    const before = this.#cpuBefore ?? { busy: 0, total: 0 };
    this.#cpuBefore = { busy, total };
    const elapsed = total - before.total;
    return [
      { key: 'cpuPercent', value: elapsed <= 0 ? 0 : rounded((100 * (busy - before.busy)) / elapsed, 1), unit: '%' },
    ];
  }

  async #memory(): Promise<readonly Metric[]> {
    const text = await this.#text('proc/meminfo').catch(() => '');
    const kilobytes = (name: string): number | undefined => {
      const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1];
      return found === undefined ? undefined : Number(found) * 1024;
    };
    const total = kilobytes('MemTotal') ?? totalmem();
    const available = kilobytes('MemAvailable') ?? freemem();
    return [
      { key: 'memoryUsedPercent', value: rounded((100 * (total - available)) / total, 1), unit: '%' },
      { key: 'memoryAvailableBytes', value: available, unit: 'By' },
    ];
  }

  /** The first mount point has plain keys, the others carry their path. */
  async #disks(only: string | undefined): Promise<readonly Metric[]> {
    const metrics = this.#options.disks.map(async (path, at): Promise<readonly Metric[]> => {
      if (only !== undefined && path !== only) return [];
      const { blocks, bavail, bfree, bsize } = await statfs(path);
      const suffix = at === 0 ? '' : `_${path}`;
      const used = blocks - bfree;
      // As df counts: what is reserved for root is neither used nor available.
      const usedPercent = used + bavail === 0 ? 0 : rounded((100 * used) / (used + bavail), 1);
      return [
        { key: `diskUsedPercent${suffix}`, value: usedPercent, unit: '%' },
        { key: `diskFreeBytes${suffix}`, value: bavail * bsize, unit: 'By' },
      ];
    });
    return await whatIsThere(metrics);
  }

  /** The hottest zone. */
  async #temperature(): Promise<readonly Metric[]> {
    const folder = join(this.#root, 'sys/class/thermal');
    const zones = (await readdir(folder)).filter((name) => name.startsWith('thermal_zone'));
    // A zone without a sensor fails with EINVAL or EAGAIN.
    const read = zones.map((zone) => this.#text(`sys/class/thermal/${zone}/temp`).then(Number, () => Number.NaN));
    const millidegrees = (await Promise.all(read)).filter((value) => Number.isFinite(value));
    if (millidegrees.length === 0) throw retryable('host/no-metrics', 'no thermal zone');
    return [{ key: 'temperature', value: rounded(Math.max(...millidegrees) / 1000, 1), unit: '°C' }];
  }

  async #network(): Promise<readonly Metric[]> {
    const bytes = async (names: readonly string[], direction: 'rx' | 'tx'): Promise<number> => {
      const counts = await Promise.all(
        names.map((name) => this.#text(`sys/class/net/${name}/statistics/${direction}_bytes`)),
      );
      return counts.reduce((sum, count) => sum + Number(count), 0);
    };
    const metrics = async (names: readonly string[], suffix: string): Promise<readonly Metric[]> => [
      { key: `networkReceivedBytes${suffix}`, value: await bytes(names, 'rx'), unit: 'By' },
      { key: `networkSentBytes${suffix}`, value: await bytes(names, 'tx'), unit: 'By' },
    ];
    const wanted = this.#options.interfaces;
    if (wanted !== undefined) return await whatIsThere(wanted.map((name) => metrics([name], `_${name}`)));
    const all = await readdir(join(this.#root, 'sys/class/net'));
    const real = all.filter((name) => name !== 'lo' && name !== 'bonding_masters');
    return await metrics(real, '');
  }

  async #text(path: string): Promise<string> {
    return (await readFile(join(this.#root, path), 'utf8')).trim();
  }
}

/** @throws the first fault where there is nothing else. */
async function whatIsThere(parts: readonly Promise<readonly Metric[]>[]): Promise<readonly Metric[]> {
  const results = await Promise.allSettled(parts);
  const given = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  const failed = results.find((result) => result.status === 'rejected');
  if (given.length === 0 && failed !== undefined) throw failed.reason;
  return given;
}

function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}

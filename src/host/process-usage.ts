/** What this process takes of the machine. */

export interface ProcessUsage {
  readonly residentBytes: number;
  readonly heapUsedBytes: number;
  /** User and system time. */
  readonly cpuSeconds: number;
}

export function processUsage(): ProcessUsage {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return { residentBytes: rss, heapUsedBytes: heapUsed, cpuSeconds: (user + system) / 1e6 };
}

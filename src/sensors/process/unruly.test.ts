/**
 * Programs that hang, flood, leak, write half lines, die and fork, all at once beside a sensor that goes on. Judged by what the agent is charged for
 * them, and by what is left of them; the longest gap in the readings of the other sensor is printed.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../../test/support/board-bench.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import { Programs } from '../../hardware/programs.ts';
import { systemClock } from '../../host/clock.ts';
import { systemFiles } from '../../host/files.ts';
import type { Log } from '../../host/log.ts';
import { MARK } from '../../host/program-family.ts';
import { createSensor, samplerEntry } from '../create-sensor.ts';
import type { Sample } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { Sampler } from '../sampler.ts';

const never = new AbortController().signal;
const WATCHED_MS = 6_000;
const GREATEST_SHARE = 0.5;
const LEAK = `
  const kept = [];
  const leak = () => {
    kept.push(Buffer.alloc(25e6, 1));
    if (kept.length < 40) setTimeout(leak, 20);
  };
  leak();
  setInterval(() => {}, 1e6);
`;

const sh = (script: string) => ({ program: '/bin/sh', arguments: ['-c', script] });
const UNRULY = {
  hangs: sh(`trap '' TERM; echo '{"a": 1}'; while :; do sleep 600; done`),
  floods: sh(`yes '{"flood": 1, "and": "some more text that fills the line up to what is usual"}'`),
  floodsWithoutEnd: sh('cat /dev/zero'),
  complains: sh('yes complaint >&2'),
  leaks: { program: process.execPath, arguments: ['-e', LEAK], maxMemory: '200MB' },
  halfLines: Object.assign(sh(`while :; do printf '{"a": '; sleep 0.01; done`), { startTimeout: '1s' }),
  dies: sh(`echo '{"a": 1}'; sleep 0.2; exit 1`),
  forks: Object.assign(
    sh(`n=0; while [ $n -lt 40 ]; do (setsid sleep 600 &); n=$((n + 1)); done; echo '{"a": 1}'; wait; sleep 600`),
    { maxMemory: '1GB', maxSilence: '0s' },
  ),
};

async function marked(): Promise<number> {
  const mine = `:${process.pid}:`;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const environments = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')));
  return environments.filter((text) => text.split('\0').some((one) => one.startsWith(MARK) && one.includes(mine)))
    .length;
}

it('cost nobody else anything', { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-unruly-'));
  const programs = new Programs(systemClock);
  const logged: string[] = [];
  const keep = (fields: object, message: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: () => {}, info: keep, warn: keep, error: keep };
  const ports = { programs } as Partial<SensorDeps['ports']> as SensorDeps['ports'];
  const deps = { ...OF_THIS_MACHINE, ports, clock: systemClock, files: systemFiles, log, stateFolder: folder };
  const times: number[] = [];
  const samples: Sample[] = [];
  const entries = Object.entries(UNRULY).map(([name, options]) => {
    const config = sensorConfig({ name, kind: 'process', period: '1s', deadline: '1s', ...options });
    return { ...samplerEntry(config, deps), open: (signal: AbortSignal) => createSensor(config, deps, signal) };
  });
  const steady = {
    name: 'steady',
    kind: 'host',
    periodMs: 100,
    deadlineMs: 1_000,
    align: false,
    revision: '',
    open: async () => ({
      name: 'steady',
      read: async () => [{ key: 'steady', value: 1 }],
      close: async () => {},
    }),
  };
  const onSamples = (taken: readonly Sample[]): void => {
    samples.push(...taken);
    if (taken[0]?.sensor === 'steady') times.push(taken[0].monotonicMs);
  };
  const cpuBefore = process.cpuUsage();
  const memoryBefore = process.memoryUsage().rss;
  const sampler = new Sampler({ clock: systemClock, log, onSamples }, [...entries, steady]);
  onTestFinished(async () => {
    await sampler.close();
    await programs.close();
    await rm(folder, { recursive: true });
  });
  sampler.start(never);
  const beganAtMs = systemClock.monotonicMs();
  await until('six seconds', () => systemClock.monotonicMs() - beganAtMs > WATCHED_MS, 30_000);
  await until(
    'an end of what leaks',
    () => logged.some((line) => /it used \d+ MB of memory, of 200 MB/.test(line)),
    20_000,
  );

  const cpu = process.cpuUsage(cpuBefore);
  const elapsedMs = systemClock.monotonicMs() - beganAtMs;
  const gap = Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at)));
  const flood = samples.filter(({ sensor }) => sensor === 'floods').length / 2;
  const figures = {
    elapsedMs: Math.round(elapsedMs),
    gapMs: Math.round(gap),
    cpuShare: (cpu.user + cpu.system) / 1e3 / elapsedMs,
    grownMb: Math.round((process.memoryUsage().rss - memoryBefore) / 1e6),
    floodLines: flood,
    logLines: logged.length,
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  // A gap of a busy machine is nobody's fault; what it costs this process is.
  expect(figures.cpuShare).toBeLessThan(GREATEST_SHARE);
  // The default lineRate, and the beginning of one second more.
  expect(flood).toBeLessThanOrEqual((elapsedMs / 1_000 + 1) * 100);
  expect(flood).toBeGreaterThan(0);
  expect(logged.filter((line) => line.includes('it is kept waiting')).length).toBeLessThanOrEqual(4);
  expect(logged.some((line) => line.includes('ended with 1'))).toBe(true);
  const faultOf = (name: string) => sampler.states().find((state) => state.name === name)?.error?.message ?? '';
  await expect.poll(() => faultOf('halfLines')).toMatch(/printed no whole line/);
  await expect.poll(() => faultOf('hangs')).toMatch(/nothing comes|said nothing/);
  expect(await marked()).toBeGreaterThan(40);
  await sampler.close();
  await programs.close();
  expect(await marked()).toBe(0);
});

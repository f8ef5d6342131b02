import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { FewLines } from '../../../test/support/few-lines.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import { AgentError } from '../../errors/agent-error.ts';
import type { Metric, MetricGroup } from '../../host/host-metrics.ts';
import { type Log, silentLog } from '../../host/log.ts';
import type { Sensor } from '../kind/sensor.ts';
import { open as openHost } from './driver.ts';

const { signal } = new AbortController();

type Shown = Readonly<Partial<Record<MetricGroup, readonly Metric[]>>>;

const root = ['diskUsedPercent', 'diskFreeBytes'].map((key) => ({ key, value: 1 }));
const stick = root.map(({ key, value }) => ({ key: `${key}_/mnt/usb`, value }));

describe('the gateway as a sensor', () => {
  let shown: Shown = {};
  /** Disks that do not come back, until their promise does. */
  let hanging: Map<string, Promise<void>>;
  let asked: string[];
  const read = async (group: MetricGroup, disk?: string): Promise<readonly Metric[]> => {
    asked.push(disk ?? group);
    await hanging.get(disk ?? group);
    const metrics = shown[group]?.filter(
      ({ key }) => disk === undefined || (disk === '/' ? !key.includes('_') : key.endsWith(`_${disk}`)),
    );
    if (metrics === undefined || metrics.length === 0)
      throw new AgentError('host/no-metrics', group, { recovery: 'retry' });
    return metrics;
  };
  const open = async (more: Readonly<Record<string, unknown>> = {}, log: Log = silentLog): Promise<Sensor> => {
    const groups = ['disk', 'temperature', 'network'];
    const config = sensorConfig({ name: 'machine', kind: 'host', groups, disks: ['/', '/mnt/usb'], ...more });
    const machine = {
      ...OF_THIS_MACHINE,
      clock: new FakeClock(),
      files: new MemoryFiles(),
      openHostMetrics: () => ({ read }),
    };
    return await openHost(config, { ...machine, ports: new FewLines().ports, log, stateFolder: '/state' }, signal);
  };
  const refusedBy = (sensor: Sensor): readonly string[] => (sensor.refused?.() ?? []).map(({ key }) => key);
  const keysOf = (metrics: readonly { readonly key: string }[]): readonly string[] => metrics.map(({ key }) => key);
  const late = (): AbortSignal => {
    const ended = new AbortController();
    setTimeout(() => ended.abort(), 5);
    return ended.signal;
  };
  beforeEach(() => {
    hanging = new Map();
    asked = [];
  });

  it('leaves out alone what is gone of a group, and tells of it; a group that is not shown at all is no news', async () => {
    const sensor = await open();
    shown = { disk: root, temperature: [{ key: 'temperature', value: 50 }] };
    expect(keysOf(await sensor.read(signal))).toEqual(['diskUsedPercent', 'diskFreeBytes', 'temperature']);
    expect(refusedBy(sensor)).toEqual(keysOf(stick));
    shown = { disk: [...root, ...stick] };
    await sensor.read(signal);
    expect(refusedBy(sensor)).toEqual(['temperature']);
    shown = {};
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'sensors/silent' });
  });

  it('tells of the only disk, and of the only interface, when it is gone', async () => {
    const sensor = await open({ disks: ['/'], interfaces: ['wwan0'] });
    const network = ['networkReceivedBytes_wwan0', 'networkSentBytes_wwan0'];
    shown = { disk: root, temperature: [], network: network.map((key) => ({ key, value: 1 })) };
    await sensor.read(signal);
    expect(refusedBy(sensor)).toEqual([]);
    for (const one of [sensor, await open({ disks: ['/'], interfaces: ['wwan0'] })]) {
      shown = { temperature: [{ key: 'temperature', value: 50 }] };
      expect(keysOf(await one.read(signal))).toEqual(['temperature']);
      expect(refusedBy(one)).toEqual([...keysOf(root), ...network]);
    }
  });

  it('says that a group is not shown of a machine that has answered, and not of a read that was ended, as by a stop', async () => {
    const told: string[] = [];
    const sensor = await open({}, { ...silentLog, info: (_facts: object, words: string) => void told.push(words) });
    shown = { disk: root };
    await expect(sensor.read(AbortSignal.abort())).rejects.toMatchObject({ code: 'sensors/silent' });
    expect(told).toEqual([]);
    await sensor.read(signal);
    expect(told).toEqual(Array.from({ length: 2 }, () => 'the machine does not show this group'));
  });

  it('gives all that has answered when a disk hangs, and asks that one once', async () => {
    const sensor = await open();
    shown = { disk: [...root, ...stick], temperature: [{ key: 'temperature', value: 50 }] };
    await sensor.read(signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    hanging.set('/mnt/usb', promise);
    for (let at = 0; at < 3; at += 1) {
      expect(keysOf(await sensor.read(late()))).toEqual(['diskUsedPercent', 'diskFreeBytes', 'temperature']);
      expect(refusedBy(sensor)).toEqual(keysOf(stick));
    }
    expect(asked.filter((part) => part === '/mnt/usb')).toHaveLength(2);
    resolve();
    await promise;
    hanging.clear();
    await sensor.read(signal);
    expect(refusedBy(sensor)).toEqual([]);
  });

  it('lasts as long as what hangs when nothing has answered: whoever opens it anew counts that', async () => {
    const sensor = await open({ groups: ['disk'], disks: ['/'] });
    shown = { disk: root };
    const { promise, resolve } = Promise.withResolvers<void>();
    hanging.set('/', promise);
    let ended = false;
    const reading = sensor.read(late()).finally(() => {
      ended = true;
    });
    await new Promise((soon) => setTimeout(soon, 20));
    expect(ended).toBe(false);
    resolve();
    await expect(reading).rejects.toMatchObject({ code: 'sensors/silent' });
  });
});

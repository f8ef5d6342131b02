import { describe, expect, it } from 'vitest';
import { AgentError } from '../../../src/errors.ts';
import type { Metric, MetricGroup } from '../../../src/host/host-metrics.ts';
import { silentLog } from '../../../src/host/log.ts';
import { openHost } from '../../../src/sensors/host.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FewLines } from '../../support/few-lines.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../support/sensor-bench.ts';

const { signal } = new AbortController();

describe('the gateway as a sensor', () => {
  it('leaves out alone what is gone of a group, and tells of it; a group that is not shown at all is no news', async () => {
    let shown: Readonly<Partial<Record<MetricGroup, readonly Metric[]>>> = {};
    const read = async (group: MetricGroup): Promise<readonly Metric[]> => {
      const metrics = shown[group];
      if (metrics === undefined) throw new AgentError('host/no-metrics', group, { recovery: 'retry' });
      return metrics;
    };
    const config = sensorConfig({ name: 'machine', kind: 'host', groups: ['disk', 'temperature', 'network'], disks: ['/', '/mnt/usb'] });
    const machine = { ...OF_THIS_MACHINE, clock: new FakeClock(), files: new MemoryFiles(), openHostMetrics: () => ({ read }) };
    const deps = { ...machine, ports: new FewLines().ports, log: silentLog, stateFolder: '/state' };
    const sensor = await openHost(config, deps, signal);
    const refused = (): readonly string[] => (sensor.refused?.() ?? []).map(({ key }) => key);
    const root = ['diskUsedPercent', 'diskFreeBytes'].map((key) => ({ key, value: 1 }));
    const stick = root.map(({ key, value }) => ({ key: `${key}_/mnt/usb`, value }));

    shown = { disk: root, temperature: [{ key: 'temperature', value: 50 }] };
    expect((await sensor.read(signal)).map(({ key }) => key)).toEqual(['diskUsedPercent', 'diskFreeBytes', 'temperature']);
    expect(refused()).toEqual(['diskUsedPercent_/mnt/usb', 'diskFreeBytes_/mnt/usb']);
    shown = { disk: [...root, ...stick] };
    await sensor.read(signal);
    expect(refused()).toEqual([]);
    shown = {};
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'sensors/silent' });
    expect(refused()).toEqual([]);
  });
});

/** Sensors for tests: configurations as the schema completes them, and what sensors stand on. */

import type { SensorConfigOf, SensorKind } from '../../src/config/schema/agent-config.ts';
import { sensorSchema } from '../../src/config/schema/sensors.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { HostMetrics, type HostMetricsOptions, type HostMetricsSource } from '../../src/host/host-metrics.ts';
import { silentLog } from '../../src/host/log.ts';
import { runProgram } from '../../src/host/run-program.ts';
import type { SensorDeps } from '../../src/sensors/kind/sensor-deps.ts';

/** A sensor's configuration as YAML would give it, with every default filled in. */
export function sensorConfig<K extends SensorKind>(
  written: { readonly name: string; readonly kind: K } & Readonly<Record<string, unknown>>,
): SensorConfigOf<K> {
  return sensorSchema.parse(written) as unknown as SensorConfigOf<K>;
}

/** Dependencies of drivers on the machine they run on. */
export const OF_THIS_MACHINE = {
  runProgram,
  openHostMetrics: (options: HostMetricsOptions): HostMetricsSource => new HostMetrics(options),
};

export function sensorDeps({ ports, folder }: Pick<SensorDeps, 'ports'> & { readonly folder: string }): SensorDeps {
  return { ...OF_THIS_MACHINE, ports, clock: systemClock, files: systemFiles, log: silentLog, stateFolder: folder };
}

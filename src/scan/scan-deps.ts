/** Dependencies of a look around: the hardware that is looked at, and what its drivers stand on. */
import type { SensorDeps } from '../sensors/kind/sensor-deps.ts';

export type ScanDeps = Pick<SensorDeps, 'ports' | 'clock' | 'files' | 'runProgram' | 'openHostMetrics'>;

/** What a configuration says of hardware and actuators, also when something else in it is wrong: a stop hook must not depend on the rest. */
import { z } from 'zod';
import type { Environment } from '../host/environment.ts';
import type { ActuatorConfig, HardwareConfig } from './agent-config.ts';
import { type AgentFolders, foldersOf, peek } from './peek-config.ts';
import { actuatorSchema } from './schema/actuators.ts';
import { hardwareSchema } from './schema/local.ts';

export interface ActuatorSections {
  readonly hardware: HardwareConfig;
  /** Those that are whole; one that is wrong does not hide the others. */
  readonly actuators: readonly ActuatorConfig[];
  readonly folders: AgentFolders;
}

/** @throws AgentError `host/read-failed` when the file cannot be read. */
export async function peekActuators(file: string, environment: Environment): Promise<ActuatorSections> {
  const written = await peek(file, environment);
  const hardware = hardwareSchema.safeParse(written.hardware ?? {});
  const actuators = Array.isArray(written.actuators) ? written.actuators : [];
  return {
    hardware: hardware.success ? hardware.data : z.parse(hardwareSchema, {}),
    actuators: actuators.flatMap((one) => {
      const parsed = actuatorSchema.safeParse(one);
      return parsed.success ? [parsed.data] : [];
    }),
    folders: foldersOf(written),
  };
}

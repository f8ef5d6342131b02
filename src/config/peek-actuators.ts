/** What a configuration says of hardware and actuators, also when something else in it is wrong: a stop hook must not depend on the rest. */
import { z } from 'zod';
import { readUserFile } from '../host/durable-file.ts';
import type { Environment } from '../host/environment.ts';
import type { ActuatorConfig, HardwareConfig } from './agent-config.ts';
import { type AgentFolders, foldersOf } from './peek-folders.ts';
import { actuatorSchema } from './schema/actuators.ts';
import { hardwareSchema } from './schema/local.ts';
import { withEnvironment } from './secret-sources.ts';
import { readYaml } from './yaml-source.ts';

export interface ActuatorSections {
  readonly hardware: HardwareConfig;
  /** Those that are whole; one that is wrong does not hide the others. */
  readonly actuators: readonly ActuatorConfig[];
  readonly folders: AgentFolders;
}

/** @throws AgentError `host/read-failed` when the file cannot be read. */
export async function peekActuators(file: string, environment: Environment): Promise<ActuatorSections> {
  const content = await readUserFile(file);
  const tree = content === undefined ? undefined : withEnvironment(readYaml(content).tree, environment);
  const written = (typeof tree === 'object' && tree !== null ? tree : {}) as Readonly<Record<string, unknown>>;
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

/** What a configuration says of hardware and actuators, also when something else in it is wrong: a stop hook must not depend on the rest. */
import { z } from 'zod';
import { readWhole } from '../host/durable-file.ts';
import type { ActuatorConfig, HardwareConfig } from './agent-config.ts';
import { DEFAULT_RUN_FOLDER } from './peek-folders.ts';
import { actuatorSchema } from './schema/actuators.ts';
import { hardwareSchema } from './schema/local.ts';
import { readYaml } from './yaml-source.ts';

export interface ActuatorSections {
  readonly hardware: HardwareConfig;
  /** Those that are whole; one that is wrong does not hide the others. */
  readonly actuators: readonly ActuatorConfig[];
  readonly runFolder: string;
}

/** @throws AgentError `host/read-failed` when the file cannot be read. */
export async function peekActuators(file: string): Promise<ActuatorSections> {
  const content = await readWhole(file);
  const tree = content === undefined ? undefined : readYaml(content.toString('utf8')).tree;
  const written = (typeof tree === 'object' && tree !== null ? tree : {}) as Readonly<Record<string, unknown>>;
  const hardware = hardwareSchema.safeParse(written.hardware ?? {});
  const actuators = Array.isArray(written.actuators) ? written.actuators : [];
  return {
    hardware: hardware.success ? hardware.data : z.parse(hardwareSchema, {}),
    actuators: actuators.flatMap((one) => {
      const parsed = actuatorSchema.safeParse(one);
      return parsed.success ? [parsed.data] : [];
    }),
    runFolder: typeof written.runFolder === 'string' ? written.runFolder : DEFAULT_RUN_FOLDER,
  };
}

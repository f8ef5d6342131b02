/** Reads hardware and actuators although something else is wrong in the configuration: a stop hook must not depend on the rest. */
import { z } from 'zod';
import { readUserFile } from '../host/durable-file.ts';
import type { Environment } from '../host/environment.ts';
import { faultLine, type PathFault, pathText } from './fields/config-fault.ts';
import { type AgentFolders, foldersIn, foldersOf, type Unchecked } from './peek-config.ts';
import { inPlace } from './placed-faults.ts';
import { actuatorSchema } from './schema/actuators.ts';
import type { ActuatorConfig, HardwareConfig } from './schema/agent-config.ts';
import { hardwareSchema } from './schema/local.ts';
import { withEnvironment } from './secret-sources.ts';
import { readYaml } from './yaml-source.ts';
import { faultsOf } from './zod-faults.ts';

const PEEKED = z.looseObject({ hardware: hardwareSchema.prefault({}), actuators: z.array(actuatorSchema).default([]) });

export interface ActuatorSections {
  readonly hardware: HardwareConfig;
  /** Those that are whole; one that is wrong does not hide the others. */
  readonly actuators: readonly ActuatorConfig[];
  readonly folders: AgentFolders;
  /** Lines for people on what could not be understood. */
  readonly faults: readonly string[];
}

/** Reads the file's sections; a missing file is a fault among them. @throws AgentError `host/read-failed` when it cannot be read. */
export async function peekActuators(file: string, environment: Environment): Promise<ActuatorSections> {
  const content = await readUserFile(file);
  const source = readYaml(content ?? '');
  const tree = withEnvironment(source.tree ?? {}, environment);
  const { faults, ...sections } = sectionsIn(tree);
  const placed = source.tree === undefined ? source.faults : inPlace(faults, { schema: PEEKED, source, tree, hidden: new Map() });
  const lines = content === undefined ? [`there is no configuration ${file}`] : placed.map((fault) => faultLine(file, fault));
  return { ...sections, folders: foldersIn(content ?? '', environment), faults: lines };
}

/** Reads the sections that the agent left in a file, which may be of another release. */
export function actuatorsLeft(left: Unchecked, path: string, environment: Environment): ActuatorSections {
  const { faults, ...sections } = sectionsIn(withEnvironment(left, environment));
  return { ...sections, folders: foldersOf(left), faults: faults.map((fault) => `${path}: ${pathText(fault.path)}: not understood`) };
}

function sectionsIn(tree: unknown): Pick<ActuatorSections, 'hardware' | 'actuators'> & { readonly faults: readonly PathFault[] } {
  const parsed = PEEKED.safeParse(tree);
  if (parsed.success) return { ...parsed.data, faults: [] };
  const faults = faultsOf(parsed.error.issues, PEEKED, tree, []);
  const { hardware, actuators } = (typeof tree === 'object' && tree !== null ? tree : {}) as Unchecked;
  const whole = (Array.isArray(actuators) ? actuators : []).flatMap((one) => {
    const { data } = actuatorSchema.safeParse(one);
    return data === undefined ? [] : [data];
  });
  return { hardware: hardwareSchema.safeParse(hardware ?? {}).data ?? hardwareSchema.parse({}), actuators: whole, faults };
}

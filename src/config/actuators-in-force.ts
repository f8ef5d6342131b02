/**
 * The actuators that the agent has opened, with the hardware and the folders that go with them, left in the run folder before any of them is
 * moved: somebody may be in the middle of changing the configuration when the agent is killed, and what was opened is what must be made safe. They
 * are kept as the file named them, variables not put in; nothing else of the configuration is there. Whoever has made them safe takes it away.
 */

import { join } from 'node:path';
import { z } from 'zod';
import { messageOf, refusal } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Environment } from '../host/environment.ts';
import type { Files } from '../host/files.ts';
import type { Log } from '../host/log.ts';
import { readUserFile, readWhole } from '../host/whole-file.ts';
import { GROUP_MODE, writeDurably } from '../store/durable-file.ts';
import { fieldsOf, sealJson } from '../store/sealed-json.ts';
import { type JsonObject, type JsonValue, OWN_JSON } from '../values/json.ts';
import { expandTemplates } from './expand-templates.ts';
import { faultLine, type PathFault, pathText } from './fields/config-fault.ts';
import { type AgentFolders, foldersIn, foldersOf, type Unchecked } from './peek-config.ts';
import { inPlace } from './placed-faults.ts';
import { actuatorSchema } from './schema/actuators.ts';
import type { ActuatorConfig, AgentConfig, HardwareConfig } from './schema/agent-config.ts';
import { hardwareSchema } from './schema/local.ts';
import { withEnvironment } from './secret-sources.ts';
import { readYaml } from './yaml/yaml-source.ts';
import { faultsOf } from './yaml/zod-faults.ts';

const NAME = 'actuators-in-force.json';
const FORMAT = { format: 'turnstone/actuators-in-force', version: 1 } as const;
/** Far more than a whole configuration has. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Nothing is switched before; a run folder that lies on a disk may hang. */
const WRITE_WITHIN_MS = 1_000;

/** Where it lies: in systemd's own folder, which is the same for the agent and for the stop hook, whatever the file says of folders by then. */
export function inForcePath(runFolder: string, { RUNTIME_DIRECTORY = '' }: Environment): string {
  const [folder = ''] = RUNTIME_DIRECTORY.split(':');
  return join(folder === '' ? runFolder : folder, NAME);
}

export interface InForceDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly environment: Environment;
  readonly log: Log;
}

/** Never rejects: without it the stop hook goes by the file, and not by what an earlier process had. */
export async function leaveInForce(
  { hardware, stateFolder, runFolder }: Pick<AgentConfig, 'hardware' | 'stateFolder' | 'runFolder'>,
  written: unknown,
  { files, clock, environment, log }: InForceDeps,
): Promise<void> {
  const path = inForcePath(runFolder, environment);
  const leave = async (): Promise<void> => {
    try {
      const actuators = (written ?? []) as JsonValue;
      const text = sealJson({ ...FORMAT, bootId: clock.bootId, stateFolder, runFolder, hardware, actuators });
      await writeDurably(files, path, text, { mode: GROUP_MODE });
    } catch (error) {
      log.warn(
        { error: messageOf(error) },
        'the stop hook is not told of the actuators: it will go by the configuration file',
      );
      files.unlinkNow(path);
    }
  };
  await endedWithin(clock, WRITE_WITHIN_MS, leave());
}

/** Undefined when nothing was left in this boot, or all of it was made safe. @throws AgentError `config/in-force` (drop) when it cannot be told. */
export async function readInForce(path: string, files: Files, bootId: string): Promise<JsonObject | undefined> {
  try {
    const bytes = await readWhole(files, path, { limitBytes: MAX_BYTES });
    const left = bytes === undefined ? undefined : fieldsOf(bytes.toString('utf8'), FORMAT, OWN_JSON);
    return left?.bootId === bootId ? left : undefined;
  } catch (error) {
    throw refusal(
      'config/in-force',
      `what the agent left of its actuators in ${path} is not understood: ${messageOf(error)}`,
      error,
    );
  }
}

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
  const source = expandTemplates(readYaml(content ?? ''));
  const tree = withEnvironment(source.tree ?? {}, environment);
  const { faults, ...sections } = sectionsIn(tree);
  const found = source.tree === undefined ? [] : inPlace(faults, { schema: PEEKED, source, tree, hidden: new Map() });
  const lines =
    content === undefined
      ? [`there is no configuration ${file}`]
      : [...source.faults, ...found].map((fault) => faultLine(file, fault));
  return { ...sections, folders: foldersIn(content ?? '', environment), faults: lines };
}

/** Reads the sections that the agent left in a file, which may be of another release. */
export function actuatorsLeft(left: Unchecked, path: string, environment: Environment): ActuatorSections {
  const { faults, ...sections } = sectionsIn(withEnvironment(left, environment));
  return {
    ...sections,
    folders: foldersOf(left),
    faults: faults.map((fault) => `${path}: ${pathText(fault.path)}: not understood`),
  };
}

function sectionsIn(
  tree: unknown,
): Pick<ActuatorSections, 'hardware' | 'actuators'> & { readonly faults: readonly PathFault[] } {
  const parsed = PEEKED.safeParse(tree);
  if (parsed.success) return { ...parsed.data, faults: [] };
  const faults = faultsOf(parsed.error.issues, PEEKED, tree, []);
  const { hardware, actuators } = (typeof tree === 'object' && tree !== null ? tree : {}) as Unchecked;
  const whole = (Array.isArray(actuators) ? actuators : []).flatMap((one) => {
    const { data } = actuatorSchema.safeParse(one);
    return data === undefined ? [] : [data];
  });
  return {
    hardware: hardwareSchema.safeParse(hardware ?? {}).data ?? hardwareSchema.parse({}),
    actuators: whole,
    faults,
  };
}

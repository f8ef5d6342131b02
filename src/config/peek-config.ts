/** What a configuration says of folders and hardware, also when something else in it is wrong. */
import { readUserFile } from '../host/durable-file.ts';
import type { Environment } from '../host/environment.ts';
import { DEFAULT_CONFIG_FILE, DEFAULT_RUN_FOLDER, DEFAULT_STATE_FOLDER } from './default-places.ts';
import { type HardwareConfig, hardwareSchema } from './schema/local.ts';
import { withEnvironment } from './secret-sources.ts';
import { readYaml } from './yaml-source.ts';

type Unchecked = Readonly<Record<string, unknown>>;

export interface AgentFolders {
  readonly stateFolder: string;
  readonly runFolder: string;
}

/**
 * The folders of a configuration file, or of the installed one, for commands that look for the agent; the usual ones when there is none to read. A variable that is not set here,
 * as the service's may be, stays as it is written.
 */
export async function peekFolders(file: string | undefined, environment: Environment): Promise<AgentFolders> {
  return foldersOf(await peek(file ?? DEFAULT_CONFIG_FILE, environment).catch(() => ({})));
}

/** The folders that a tree names. */
export function foldersOf({ stateFolder, runFolder }: Unchecked): AgentFolders {
  return {
    stateFolder: typeof stateFolder === 'string' ? stateFolder : DEFAULT_STATE_FOLDER,
    runFolder: typeof runFolder === 'string' ? runFolder : DEFAULT_RUN_FOLDER,
  };
}

/** Which hardware it uses, for commands that look at buses; this machine's where there is none to read. */
export async function peekHardware(file: string | undefined, environment: Environment): Promise<HardwareConfig> {
  const { hardware = {} } = await peek(file ?? DEFAULT_CONFIG_FILE, environment).catch((): Unchecked => ({}));
  const parsed = hardwareSchema.safeParse(hardware);
  return parsed.success ? parsed.data : { board: 'linux', gpio: 'auto' };
}

/** What a file says. @throws AgentError `host/read-failed` when it cannot be read. */
export async function peek(file: string, environment: Environment): Promise<Unchecked> {
  const content = await readUserFile(file);
  const tree = content === undefined ? undefined : withEnvironment(readYaml(content).tree, environment);
  return typeof tree === 'object' && tree !== null ? (tree as Unchecked) : {};
}

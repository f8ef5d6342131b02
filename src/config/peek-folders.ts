/** Where a configuration keeps its folders, also when something else in it is wrong: for commands that look for the agent. */
import { readUserFile } from '../host/durable-file.ts';
import type { Environment } from '../host/environment.ts';
import { DEFAULT_CONFIG_FILE, DEFAULT_RUN_FOLDER, DEFAULT_STATE_FOLDER } from './default-places.ts';
import { withEnvironment } from './secret-sources.ts';
import { readYaml } from './yaml-source.ts';

export interface AgentFolders {
  readonly stateFolder: string;
  readonly runFolder: string;
}

/**
 * The folders of a configuration file, or of the installed one; the usual ones when there is none to read. A variable that is not set here,
 * as the service's may be, stays as it is written.
 */
export async function peekFolders(file: string | undefined, environment: Environment): Promise<AgentFolders> {
  return foldersOf(await peek(file ?? DEFAULT_CONFIG_FILE, environment));
}

/** The folders that a tree names. */
export function foldersOf({ stateFolder, runFolder }: Readonly<Record<string, unknown>>): AgentFolders {
  return {
    stateFolder: typeof stateFolder === 'string' ? stateFolder : DEFAULT_STATE_FOLDER,
    runFolder: typeof runFolder === 'string' ? runFolder : DEFAULT_RUN_FOLDER,
  };
}

/** What a file says, unchecked. */
export async function peek(file: string, environment: Environment): Promise<Readonly<Record<string, unknown>>> {
  const content = await readUserFile(file).catch(() => undefined);
  const tree = content === undefined ? undefined : withEnvironment(readYaml(content).tree, environment);
  return (typeof tree === 'object' && tree !== null ? tree : {}) as Readonly<Record<string, unknown>>;
}

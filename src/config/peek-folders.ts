/** Where a configuration keeps its folders, also when something else in it is wrong: for commands that look for the agent. */
import { readWhole } from '../host/durable-file.ts';
import { readYaml } from './yaml-source.ts';

export const DEFAULT_CONFIG_FILE = '/etc/turnstone/turnstone.yaml';
export const DEFAULT_STATE_FOLDER = '/var/lib/turnstone';
export const DEFAULT_RUN_FOLDER = '/run/turnstone';

export interface AgentFolders {
  readonly stateFolder: string;
  readonly runFolder: string;
}

/** The folders of a configuration file, or of the installed one; the usual ones when there is none to read. */
export async function peekFolders(file: string = DEFAULT_CONFIG_FILE): Promise<AgentFolders> {
  const { stateFolder, runFolder } = await peek(file);
  return {
    stateFolder: typeof stateFolder === 'string' ? stateFolder : DEFAULT_STATE_FOLDER,
    runFolder: typeof runFolder === 'string' ? runFolder : DEFAULT_RUN_FOLDER,
  };
}

/** What a file says, unchecked. */
export async function peek(file: string): Promise<Readonly<Record<string, unknown>>> {
  const content = await readWhole(file).catch(() => undefined);
  const tree = content === undefined ? undefined : readYaml(content.toString('utf8')).tree;
  return (typeof tree === 'object' && tree !== null ? tree : {}) as Readonly<Record<string, unknown>>;
}

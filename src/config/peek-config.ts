/** Reads the bytes of a configuration, and its folders and hardware although something else in it is wrong. */

import { AgentError, messageOf, systemCode } from '../errors/agent-error.ts';
import type { Environment } from '../host/environment.ts';
import { readUserFile } from '../host/whole-file.ts';
import { DEFAULT_CONFIG_FILE, DEFAULT_RUN_FOLDER, DEFAULT_STATE_FOLDER } from './fields/default-places.ts';
import { type HardwareConfig, hardwareSchema } from './schema/local.ts';
import { withEnvironment } from './secret-sources.ts';
import { readYaml } from './yaml/yaml-source.ts';

/** @throws AgentError `config/unreadable`: retry for what a disk or a right may mend, else stop. */
export async function readConfigBytes(path: string): Promise<Uint8Array> {
  const content = await readUserFile(path).catch((cause: unknown) => {
    // A disk or a right may be mended by itself; what is no file, or far too large for one, is not.
    const recovery = cause instanceof AgentError && cause.recovery === 'retry' ? 'retry' : 'stop';
    const mayNot = systemCode(cause instanceof Error ? cause.cause : undefined) === 'EACCES';
    const words = `no configuration: ${messageOf(cause)}${mayNot ? '; this user may not read it: try sudo' : ''}`;
    throw new AgentError('config/unreadable', words, { recovery, cause });
  });
  if (content === undefined)
    throw new AgentError('config/unreadable', `there is no configuration ${path}`, { recovery: 'stop' });
  return content;
}

export type Unchecked = Readonly<Record<string, unknown>>;

export interface AgentFolders {
  readonly stateFolder: string;
  readonly runFolder: string;
}

/** In a text that is no YAML: where the agent is must not be lost with it. */
const FOLDER_LINE = /^[{ "']*(stateFolder|runFolder)["']? *: *["']?([^"'#,\r\n]*)/gm;

/**
 * The folders of a configuration file; the usual ones when there is none to read. A variable that is not set here, as the service's may be,
 * stays as it is written.
 */
export async function peekFolders(file: string, environment: Environment): Promise<AgentFolders> {
  return foldersIn((await readUserFile(file).catch(() => undefined)) ?? '', environment);
}

/**
 * The folders of the configuration that a person named, else those of the installed one, for commands that look for the agent.
 * @throws AgentError `config/unreadable` for a named file that is not there or cannot be read.
 */
export async function namedFolders(file: string | undefined, environment: Environment): Promise<AgentFolders> {
  return foldersIn(await namedBytes(file), environment);
}

/** The folders that a text names. */
export function foldersIn(content: string | Uint8Array, environment: Environment): AgentFolders {
  const { tree } = readYaml(content);
  const written = () =>
    Object.fromEntries([...String(content).matchAll(FOLDER_LINE)].map(([, name, path = '']) => [name, path.trim()]));
  return foldersOf(mappingIn(withEnvironment(tree ?? written(), environment)));
}

/** The folders that a tree names. */
export function foldersOf({ stateFolder, runFolder }: Unchecked): AgentFolders {
  return {
    stateFolder: typeof stateFolder === 'string' ? stateFolder : DEFAULT_STATE_FOLDER,
    runFolder: typeof runFolder === 'string' ? runFolder : DEFAULT_RUN_FOLDER,
  };
}

/**
 * Which hardware the named configuration uses, else the installed one, for commands that look at buses; this machine's where neither says.
 * @throws as `namedFolders`.
 */
export async function peekHardware(file: string | undefined, environment: Environment): Promise<HardwareConfig> {
  const { tree } = readYaml(await namedBytes(file));
  const { hardware = {} } = mappingIn(withEnvironment(tree, environment));
  const parsed = hardwareSchema.safeParse(hardware);
  return parsed.success ? parsed.data : { board: 'linux', gpio: 'auto' };
}

async function namedBytes(file: string | undefined): Promise<Uint8Array | string> {
  if (file !== undefined) return await readConfigBytes(file);
  return (await readUserFile(DEFAULT_CONFIG_FILE).catch(() => undefined)) ?? '';
}

function mappingIn(tree: unknown): Unchecked {
  return typeof tree === 'object' && tree !== null ? (tree as Unchecked) : {};
}

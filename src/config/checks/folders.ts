/** Folders and sockets of the agent's own: where they can never be, it must not be started again and again. */
import { join, relative } from 'node:path';
import { MAX_SOCKET_PATH_BYTES, placeBehindLinks, whyNoFolder } from '../../host/folder-place.ts';
import { type Finding, finding } from '../fields/findings.ts';
import type { Check, ConfigDraft } from './draft.ts';

/** The longest name of what listens in the run folder. */
const SOCKET_NAME = 'control.sock';
/** In memory: a start of the machine finds them empty. */
const FOLDERS_IN_MEMORY = ['/run', '/var/run', '/dev/shm'];

/** A path that bind(2) and connect(2) would refuse. */
export const checkSockets: Check = ({ sections: { runFolder = '', hardware } }) => {
  const isTooLong = (path: string): boolean => Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES;
  const room = MAX_SOCKET_PATH_BYTES - Buffer.byteLength(join('/', SOCKET_NAME));
  const findings: Finding[] = [];
  if (isTooLong(join(runFolder, SOCKET_NAME)))
    findings.push(finding(['runFolder'], 'too long for the sockets in it:', `at most ${room} bytes`));
  if (isTooLong(hardware?.boardSocket ?? ''))
    findings.push(finding(['hardware', 'boardSocket'], 'too long for a socket:', `at most ${MAX_SOCKET_PATH_BYTES} bytes`));
  return findings;
};

/** Finds a lockout file that a power cut would take away: a lockout lasts until the person who works on the machine ends it. */
export const checkLockoutFile: Check = ({ sections: { runFolder = '/run', rpc } }) => {
  const file = rpc?.lockout.file;
  if (file === undefined || ![...FOLDERS_IN_MEMORY, runFolder].some((folder) => isWithin(file, folder))) return [];
  const expected = 'a folder that lasts, such as /var/lib/turnstone';
  return [finding(['rpc', 'lockout', 'file'], 'a power cut ends the lockout of', expected, { warning: true })];
};

/** The folder of one agent's state is locked; in the other its sockets are. */
async function nestedFolders({ stateFolder, runFolder }: ConfigDraft['sections']): Promise<Finding[]> {
  if (stateFolder === undefined || runFolder === undefined) return [];
  const [state, run] = await Promise.all([placeBehindLinks(stateFolder), placeBehindLinks(runFolder)]);
  const expected = `a folder that is neither the run folder (${runFolder}) nor within it, nor around it`;
  if (!isWithin(state, run) && !isWithin(run, state)) return [];
  return [finding(['stateFolder'], 'in one place with the run folder:', expected)];
}

function isWithin(inner: string, outer: string): boolean {
  return !/^\.\.(\/|$)/.test(relative(outer, inner));
}

export async function checkFolders({ sections }: ConfigDraft): Promise<Finding[]> {
  const found = (['stateFolder', 'runFolder'] as const).map(async (name): Promise<Finding[]> => {
    const folder = sections[name];
    const expected = folder === undefined ? undefined : await whyNoFolder(folder);
    return expected === undefined ? [] : [finding([name], 'no place for a folder:', expected)];
  });
  return (await Promise.all([nestedFolders(sections), ...found])).flat();
}

/** Files, programs and folders that the configuration names: those that are not there, and those that can never be where they are named. */

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { z } from 'zod';
import { systemCode } from '../../errors/agent-error.ts';
import { MAX_SOCKET_PATH_BYTES, placeBehindLinks, whyNoFolder } from '../../host/folder-place.ts';
import type { MayRead } from '../../host/service-reader.ts';
import { DEFAULT_CONFIG_FILE } from '../fields/default-places.ts';
import { type Finding, finding } from '../fields/findings.ts';
import { type Field, visitFields } from '../schema/schema-walk.ts';
import type { Check, ConfigDraft } from './draft.ts';

export async function checkFiles(schema: z.core.$ZodType, tree: unknown): Promise<Finding[]> {
  const named: Field[] = [];
  visitFields(schema, tree, (field) => {
    if (field.meta.exists !== undefined && typeof field.value === 'string' && field.value.startsWith('/'))
      named.push(field);
  });
  return (await Promise.all(named.map(fileFault))).flat();
}

const FOR_SERVICE = 'a file that the service may read: chgrp turnstone and chmod 640, in a folder that it may enter';

/** Finds what root may read and the service may not: secrets, certificates, code, and the installed configuration itself. */
export async function checkForService(
  schema: z.core.$ZodType,
  tree: unknown,
  configFile: string,
  mayRead?: MayRead,
): Promise<Finding[]> {
  if (mayRead === undefined) return [];
  const named: Pick<Field, 'path' | 'value'>[] =
    configFile === DEFAULT_CONFIG_FILE ? [{ path: [], value: configFile }] : [];
  visitFields(schema, tree, ({ path, value, meta }) => {
    if ((meta.exists === 'file' || meta.names === 'secret-file') && typeof value === 'string' && value.startsWith('/'))
      named.push({ path, value });
  });
  const checked = named.map(async ({ path, value }) =>
    (await mayRead(String(value)))
      ? []
      : [finding(path, 'the user turnstone may not read', FOR_SERVICE, { value: String(value), onGateway: true })],
  );
  return (await Promise.all(checked)).flat();
}

/** A file with a secret in it that everyone on the machine can read. */
export async function checkReadable(file: string, hasSecret: boolean): Promise<Finding[]> {
  if (!hasSecret || ((await stat(file)).mode & 0o004) === 0) return [];
  const expected = 'chmod 640, or the secret in a file of its own';
  return [
    finding([], 'a secret stands in a file that everyone can read', expected, {
      value: '',
      warning: true,
      onGateway: true,
    }),
  ];
}

async function fileFault({ path, value, meta }: Field): Promise<Finding[]> {
  const file = String(value);
  const isProgram = meta.exists === 'program';
  const noun = isProgram ? 'program' : 'file';
  try {
    if (!(await stat(file)).isFile()) return [finding(path, `no ${noun}:`, `a ${noun}`, { onGateway: true })];
    await access(file, isProgram ? constants.X_OK : constants.R_OK);
    return [];
  } catch (error) {
    if (systemCode(error) === 'EACCES')
      return [
        finding(path, 'no permission for', `a ${noun} that this user may ${isProgram ? 'run' : 'read'}`, {
          onGateway: true,
        }),
      ];
    // A certificate may lie on a disk that is mounted later; a program is installed, or it is not.
    return [
      finding(path, `no such ${noun}:`, `a ${noun} that exists`, isProgram ? { onGateway: true } : { mayPass: true }),
    ];
  }
}

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
    findings.push(
      finding(['hardware', 'boardSocket'], 'too long for a socket:', `at most ${MAX_SOCKET_PATH_BYTES} bytes`),
    );
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
    return expected === undefined ? [] : [finding([name], 'no place for a folder:', expected, { onGateway: true })];
  });
  return (await Promise.all([nestedFolders(sections), ...found])).flat();
}

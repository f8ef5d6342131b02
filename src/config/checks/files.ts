/** Files and programs that the configuration names and that are not there. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import type { z } from 'zod';
import { systemCode } from '../../errors/agent-error.ts';
import { type Finding, finding } from '../fields/findings.ts';
import { type Field, visitFields } from '../schema/schema-walk.ts';

export async function checkFiles(schema: z.core.$ZodType, tree: unknown): Promise<Finding[]> {
  const named: Field[] = [];
  visitFields(schema, tree, (field) => {
    if (field.meta.exists !== undefined && typeof field.value === 'string' && field.value.startsWith('/')) named.push(field);
  });
  return (await Promise.all(named.map(fileFault))).flat();
}

/** A file with a secret in it that everyone on the machine can read. */
export async function checkReadable(file: string, hasSecret: boolean): Promise<Finding[]> {
  if (!hasSecret || ((await stat(file)).mode & 0o004) === 0) return [];
  const expected = 'chmod 640, or the secret in a file of its own';
  return [finding([], 'a secret stands in a file that everyone can read', expected, { value: '', warning: true })];
}

async function fileFault({ path, value, meta }: Field): Promise<Finding[]> {
  const file = String(value);
  const isProgram = meta.exists === 'program';
  const noun = isProgram ? 'program' : 'file';
  try {
    if (!(await stat(file)).isFile()) return [finding(path, `no ${noun}:`, `a ${noun}`)];
    await access(file, isProgram ? constants.X_OK : constants.R_OK);
    return [];
  } catch (error) {
    if (systemCode(error) === 'EACCES')
      return [finding(path, 'no permission for', `a ${noun} that this user may ${isProgram ? 'run' : 'read'}`)];
    // A certificate may lie on a disk that is mounted later; a program is installed, or it is not.
    return [finding(path, `no such ${noun}:`, `a ${noun} that exists`, isProgram ? {} : { mayPass: true })];
  }
}

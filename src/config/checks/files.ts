/** Files and programs that the configuration names and that are not there. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import type { z } from 'zod';
import { systemCode } from '../../errors.ts';
import type { Finding } from '../fields/findings.ts';
import { type Field, visitFields } from '../schema-walk.ts';

export async function checkFiles(schema: z.core.$ZodType, tree: unknown): Promise<Finding[]> {
  const named: Field[] = [];
  visitFields(schema, tree, (field) => {
    if (field.meta.exists !== undefined && typeof field.value === 'string' && field.value.startsWith('/')) named.push(field);
  });
  return (await Promise.all(named.map(fileFault))).flat();
}

/** A file with a secret in it that everyone on the machine can read. */
export async function checkReadable(file: string, hasSecret: boolean): Promise<Finding[]> {
  if (!hasSecret) return [];
  const { mode } = await stat(file);
  if ((mode & 0o004) === 0) return [];
  return [
    {
      path: [],
      problem: 'a secret stands in a file that everyone can read',
      value: '',
      expected: 'chmod 640, or the secret in a file of its own',
      warning: true,
    },
  ];
}

async function fileFault({ path, value, meta }: Field): Promise<Finding[]> {
  const file = String(value);
  const noun = meta.exists === 'program' ? 'program' : 'file';
  try {
    const found = await stat(file);
    if (!found.isFile()) return [{ path, problem: `no ${noun}:`, expected: `a ${noun}` }];
    await access(file, meta.exists === 'program' ? constants.X_OK : constants.R_OK);
    return [];
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EACCES') {
      const need = meta.exists === 'program' ? 'a program that this user may run' : 'a file that this user may read';
      return [{ path, problem: 'no permission for', expected: need }];
    }
    // A certificate may lie on a disk that is mounted later; a program is installed, or it is not.
    const mayPass = noun === 'file' ? { mayPass: true } : {};
    return [{ path, problem: `no such ${noun}:`, expected: `a ${noun} that exists`, ...mayPass }];
  }
}

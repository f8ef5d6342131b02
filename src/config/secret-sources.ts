/**
 * Brings secrets into the configuration from where they are safe: `${ENV}` in any text, a file (`accessTokenFile`), or a systemd
 * credential (`accessTokenCredential`). What came in this way is never shown again.
 */
import { join } from 'node:path';
import type { z } from 'zod';
import { messageOf } from '../errors.ts';
import { readWhole } from '../host/durable-file.ts';
import type { Environment } from '../host/environment.ts';
import { type ConfigPath, type PathFault, pathText } from './config-fault.ts';
import { didYouMean } from './did-you-mean.ts';
import { knownKeys, visitFields } from './schema-walk.ts';

/** `${NAME}`; `$${NAME}` is kept as `${NAME}`. */
const REFERENCE = /\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
/** A token or a proxy address; nothing longer is a secret of ours. */
const LARGEST_SECRET_BYTES = 16 * 1024;
/**
 * What the unit's LoadCredential= reads: outside the service, where check-config and doctor run, the credential `turnstone_token` is
 * the file `token` there.
 */
const CREDENTIALS_SOURCE = '/etc/turnstone/credentials';
const CREDENTIAL_PREFIX = 'turnstone_';

export interface ResolvedSecrets {
  readonly tree: unknown;
  readonly faults: readonly PathFault[];
  /** Paths, as text, whose values came from elsewhere. */
  readonly hidden: ReadonlySet<string>;
}

export async function resolveSecrets(schema: z.core.$ZodType, tree: unknown, environment: Environment): Promise<ResolvedSecrets> {
  const faults: PathFault[] = [];
  const hidden = new Set<string>();
  const resolved = substitute(tree, [], { environment, faults, hidden });
  const sources: Source[] = [];
  visitFields(schema, resolved, ({ schema: inner, value, path }) => sources.push(...sourcesOf(inner, value, path)));
  for (const source of sources) {
    const fault = await fill(source, environment);
    hidden.add(pathText([...source.path, source.field]));
    if (fault !== undefined) faults.push(fault);
  }
  return { tree: resolved, faults, hidden };
}

interface Source {
  readonly path: ConfigPath;
  readonly mapping: Record<string, unknown>;
  readonly field: string;
  /** `accessTokenFile` or `accessTokenCredential`. */
  readonly key: string;
  readonly others: readonly string[];
}

/** Mappings whose schema has `xFile` and `xCredential` beside `x`. */
function sourcesOf(schema: z.core.$ZodType, value: unknown, path: ConfigPath): Source[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const mapping = value as Record<string, unknown>;
  const known = new Set(knownKeys(schema, value));
  const fields = [...known].filter((field) => known.has(`${field}File`) && known.has(`${field}Credential`));
  return fields.flatMap((field) => {
    const given = [field, `${field}File`, `${field}Credential`].filter((key) => Object.hasOwn(mapping, key));
    return given
      .filter((key) => key !== field)
      .map((key) => ({ path, mapping, field, key, others: given.filter((other) => other !== key) }));
  });
}

async function fill({ path, mapping, field, key, others }: Source, environment: Environment): Promise<PathFault | undefined> {
  const at = [...path, key];
  if (others.length > 0)
    return { path: at, atKey: true, problem: 'given twice:', value: `${key} beside ${others.join(', ')}`, expected: 'one of them' };
  const place = mapping[key];
  if (typeof place !== 'string') return undefined;
  const file = key === `${field}File` ? place : credentialFile(place, environment);
  try {
    const content = await readWhole(file, LARGEST_SECRET_BYTES);
    if (content === undefined) return missing(at, field, key === `${field}Credential` ? file : undefined);
    const value = content.toString('utf8').replace(/\r?\n$/, '');
    if (value === '') return { path: at, problem: 'empty file:', expected: `a file with the ${field}` };
    mapping[field] = value;
    return undefined;
  } catch (error) {
    return { path: at, problem: `${messageOf(error)}:`, expected: `a file with the ${field} that this user may read` };
  }
}

function credentialFile(name: string, { CREDENTIALS_DIRECTORY: folder }: Environment): string {
  return folder === undefined ? join(CREDENTIALS_SOURCE, name.replace(CREDENTIAL_PREFIX, '')) : join(folder, name);
}

function missing(path: ConfigPath, field: string, credential: string | undefined): PathFault {
  if (credential === undefined) return { path, problem: 'no such file:', expected: `a file with the ${field}` };
  return {
    path,
    problem: 'no such credential:',
    expected: `the file ${credential}`,
    hint: `the service is given every file of ${CREDENTIALS_SOURCE} as ${CREDENTIAL_PREFIX}<name>`,
  };
}

function substitute(
  value: unknown,
  path: ConfigPath,
  context: { readonly environment: Environment; readonly faults: PathFault[]; readonly hidden: Set<string> },
): unknown {
  if (Array.isArray(value)) return value.map((item, index) => substitute(item, [...path, index], context));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, substitute(member, [...path, key], context)]));
  if (typeof value !== 'string' || !value.includes('${')) return value;
  return value.replace(REFERENCE, (written, name: string) => {
    if (written.startsWith('$$')) return written.slice(1);
    context.hidden.add(pathText(path));
    const found = context.environment[name];
    if (found === undefined || found === '') {
      const hint =
        didYouMean(name, Object.keys(context.environment)).hint ?? 'set it in the unit (Environment=, EnvironmentFile=) or use a file';
      context.faults.push({ path, problem: 'environment variable not set:', value: name, expected: 'its value', hint });
      return written;
    }
    return found;
  });
}

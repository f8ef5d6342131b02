/**
 * Brings secrets into the configuration from where they are safe: `${ENV}` in any text, a file (`accessTokenFile`), or a systemd
 * credential (`accessTokenCredential`). What came in this way is never shown again.
 */
import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import type { z } from 'zod';
import { AgentError, messageOf, systemCode } from '../errors/agent-error.ts';
import type { Environment } from '../host/environment.ts';
import { readUserFile } from '../host/whole-file.ts';
import { type ConfigPath, type PathFault, pathText } from './fields/config-fault.ts';
import { didYouMeanWhenTold } from './fields/did-you-mean.ts';
import { isWord } from './fields/shown-value.ts';
import { knownKeys, visitFields } from './schema/schema-walk.ts';
import { MAX_FAULTS } from './yaml/yaml-bounds.ts';

/** `${NAME}`; `$${` is kept as `${`, and `${` without name and end is a mistake. */
const REFERENCE = /\$?\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?/g;
/** As variables are called; anything else may be the secret itself. */
const VARIABLE = /^[A-Z_][A-Z0-9_]*$|^[a-z_]{1,32}$/;
/** Size that variables may add to a file: a value of 100 kB that is named in every line must not fill the memory. */
const MAX_SUBSTITUTED = 1024 * 1024;
/** In one text; somebody pasted a script. */
const MAX_REFERENCES = 1_000;
/** A token or a proxy address; nothing longer is a secret of ours. */
const MAX_SECRET_BYTES = 16 * 1024;
/**
 * Folder that the unit's LoadCredential= reads: outside the service, where check-config and doctor run, the credential `turnstone_token` is
 * the file `token` there.
 */
const CREDENTIALS_SOURCE = '/etc/turnstone/credentials';
const CREDENTIAL_PREFIX = 'turnstone_';

export interface ResolvedSecrets {
  readonly tree: unknown;
  readonly faults: readonly PathFault[];
  /** Paths, as text, whose values came from elsewhere; with the key in the file that brought them, where it is another one. */
  readonly hidden: ReadonlyMap<string, ConfigPath | undefined>;
}

export async function resolveSecrets(
  schema: z.core.$ZodType,
  tree: unknown,
  environment: Environment,
): Promise<ResolvedSecrets> {
  const faults: PathFault[] = [];
  const hidden = new Map<string, ConfigPath | undefined>();
  const resolved = substitute(tree, [], { environment, faults, hidden, substituted: 0 });
  const sources: Source[] = [];
  visitFields(schema, resolved, ({ schema: inner, value, path }) => sources.push(...sourcesOf(inner, value, path)));
  for (const source of sources) {
    const fault = await fill(source, environment);
    hidden.set(pathText([...source.path, source.field]), [...source.path, source.key]);
    if (fault !== undefined) faults.push(fault);
  }
  return { tree: resolved, faults, hidden };
}

/** A file's texts with the variables that are set; whatever is wrong with the others stays as it is written. */
export function withEnvironment(tree: unknown, environment: Environment): unknown {
  return substitute(tree, [], { environment, faults: [], hidden: new Map(), substituted: 0 });
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
  if (known.size === 0) return [];
  const fields = [...known].filter((field) => known.has(`${field}File`) && known.has(`${field}Credential`));
  return fields.flatMap((field) => {
    const given = [field, `${field}File`, `${field}Credential`].filter((key) => Object.hasOwn(mapping, key));
    return given
      .filter((key) => key !== field)
      .map((key) => ({ path, mapping, field, key, others: given.filter((other) => other !== key) }));
  });
}

async function fill(
  { path, mapping, field, key, others }: Source,
  environment: Environment,
): Promise<PathFault | undefined> {
  const at = [...path, key];
  if (others.length > 0)
    return {
      path: at,
      atKey: true,
      problem: 'given twice:',
      value: `${key} beside ${others.join(', ')}`,
      expected: 'one of them',
    };
  const place = mapping[key];
  if (typeof place !== 'string') return undefined;
  const file = key === `${field}File` ? place : credentialFile(place, environment);
  try {
    const content = await readUserFile(file, MAX_SECRET_BYTES);
    const what = `a file with the ${field}`;
    if (content === undefined && key !== `${field}File`) return missingCredential(at, place, file);
    if (content === undefined) return { path: at, problem: 'no such file:', expected: what, mayPass: true };
    if (!isUtf8(content))
      return { path: at, problem: 'bytes that are no UTF-8 in', expected: 'a file in UTF-8', onGateway: true };
    const value = content
      .toString('utf8')
      .replace(/^\ufeff/, '')
      .replace(/\r?\n$/, '');
    if (value === '') return { path: at, problem: 'empty file:', expected: what, onGateway: true };
    mapping[field] = value;
    return undefined;
  } catch (error) {
    const isForbidden = error instanceof AgentError && systemCode(error.cause) === 'EACCES';
    const expected = `a file with the ${field} that this user may read`;
    return {
      path: at,
      problem: `${messageOf(error)}:`,
      expected,
      ...(isForbidden ? { onGateway: true } : { mayPass: true }),
    };
  }
}

function credentialFile(name: string, { CREDENTIALS_DIRECTORY: folder }: Environment): string {
  return folder === undefined ? join(CREDENTIALS_SOURCE, name.replace(CREDENTIAL_PREFIX, '')) : join(folder, name);
}

function missingCredential(path: ConfigPath, name: string, file: string): PathFault {
  return {
    path,
    problem: 'no such credential:',
    mayPass: true,
    expected: isWord(name) ? `the file ${file}` : 'the name of a credential',
    hint: `the service is given every file of ${CREDENTIALS_SOURCE} as ${CREDENTIAL_PREFIX}<name>`,
  };
}

interface Substitution {
  readonly environment: Environment;
  readonly faults: PathFault[];
  readonly hidden: Map<string, ConfigPath | undefined>;
  /** Characters that variables have added so far. */
  substituted: number;
}

function substitute(value: unknown, path: ConfigPath, context: Substitution): unknown {
  if (Array.isArray(value)) return value.map((item, index) => substitute(item, [...path, index], context));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        const at = [...path, key];
        if (key.includes('${'))
          noteFault(context, {
            path: at,
            atKey: true,
            problem: 'a reference in a key:',
            value: key,
            expected: 'a word',
          });
        return [key, substitute(member, at, context)];
      }),
    );
  }
  return typeof value === 'string' && value.includes('${') ? substituteText(value, path, context) : value;
}

function substituteText(text: string, path: ConfigPath, context: Substitution): string {
  if (text.split('${', MAX_REFERENCES + 2).length > MAX_REFERENCES + 1) {
    noteFault(context, {
      path,
      problem: 'too many references',
      value: '',
      expected: `at most ${MAX_REFERENCES} in one text`,
    });
    return text;
  }
  return text.replace(REFERENCE, (written, name: string | undefined) => {
    if (written.startsWith('$$')) return written.slice(1);
    if (name === undefined) {
      noteFault(context, {
        path,
        problem: 'a reference without name or end in',
        expected: `\${NAME}`,
        hint: '$${ stands for a plain ${',
      });
      return written;
    }
    context.hidden.set(pathText(path), undefined);
    const found = context.environment[name];
    if (found === undefined || found === '') {
      const known = Object.keys(context.environment).filter((other) => other !== name);
      const hint = didYouMeanWhenTold(name, known, 'set it in the unit (Environment=, EnvironmentFile=) or use a file');
      const value = VARIABLE.test(name) ? name : '';
      noteFault(context, {
        path,
        problem: 'environment variable not set:',
        value,
        expected: 'its value',
        onGateway: true,
        ...hint,
      });
      return written;
    }
    context.substituted += found.length;
    if (context.substituted <= MAX_SUBSTITUTED) return found;
    noteFault(context, {
      path,
      problem: 'too much from the environment',
      value: '',
      expected: `at most ${MAX_SUBSTITUTED} characters`,
    });
    return written;
  });
}

/** One text may hold as many faults as it has letters. */
function noteFault({ faults }: Substitution, fault: PathFault): void {
  if (faults.length < MAX_FAULTS) faults.push(fault);
}

/**
 * One archive for whoever helps from afar: what the gateway is, how it is set up, how it does, what it has logged. Every text passes one
 * redaction: known secrets wherever they stand, and the values of fields that look like secrets even where nothing could be parsed.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from 'tar';
import { systemClock } from '../host/clock.ts';
import { makeFolder } from '../host/durable-file.ts';
import { AgentLog } from '../host/log.ts';

/** Its owner and whoever is given it; nobody else on this machine. */
export const ARCHIVE_MODE = 0o600;
/** Also at the end of longer names: `nextToken`, `TURNSTONE_TOKEN`. A text of hyphens is no name. */
const SECRET_NAMES =
  'deviceKey|provisionDeviceKey|secretKey|credentialsValue|pin|proxy|jwt|[\\w-]{0,40}(?:token|secret|password|passphrase)';
/** In quotes, in quotes within a text, or without: a comma or a bracket ends it where nothing follows that could be more of it. */
const VALUE = '"(?:[^"\\\\]|\\\\.)*"|\\\\+"[^"\\\\]*\\\\+"|\'[^\']*\'|(?:[^\\s,}\\]]|[,}\\]](?=[^\\s,{}[\\]"\'\\\\]))+';
/** `accessToken: value`, `"accessToken":"value"`, in YAML, JSON, JSON within JSON and log lines alike; references to files stay. */
const NAMED_VALUE = new RegExp(`(["']?\\b(?:${SECRET_NAMES})\\\\*["']?\\s*[:=]\\s*)(${VALUE})`, 'gi');
/** Of a header: `Authorization: Bearer value`. */
const AUTHORIZATION = /(\bauthorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic)\s+)?)[^\s"'\\,}\]]+/gi;
/** The token is a segment of every path of the device API. */
const TOKEN_IN_PATH = /(\/api\/v1\/)(?!provision\b)[^/\s"'?]+/g;
/** User and password of an address; schemes are short, and a text of hyphens is none. */
const USER_IN_URL = /(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^/\s@"']+@/gi;
const MASK = '[secret]';

export class Redactor {
  readonly #log = new AgentLog({ level: 'error', clock: systemClock, sink: { write: () => {} } });

  hide(secret: string): void {
    this.#log.hide(secret);
  }

  redact(text: string): string {
    return this.#log
      .redact(text)
      .replace(NAMED_VALUE, (_all, name: string) => `${name}${MASK}`)
      .replace(AUTHORIZATION, `$1${MASK}`)
      .replace(TOKEN_IN_PATH, `$1${MASK}`)
      .replace(USER_IN_URL, `$1${MASK}@`);
  }
}

/** Texts, by file name, as a gzipped tar; nothing of them is left elsewhere. */
export async function packSupportArchive(texts: Readonly<Record<string, string>>, redactor: Redactor): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-diagnose-'));
  try {
    const inside = 'turnstone-diagnosis';
    await makeFolder(join(folder, inside), 0o700);
    for (const [name, text] of Object.entries(texts))
      await writeFile(join(folder, inside, name), redactor.redact(text), { mode: ARCHIVE_MODE });
    const packed = join(folder, 'packed');
    await create({ file: packed, gzip: true, cwd: folder, portable: true }, [inside]);
    return await readFile(packed);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * One archive for whoever helps from afar: what the gateway is, how it is set up, how it does, what it has logged. Every text passes one
 * redaction: known secrets wherever they stand, and the values of fields that look like secrets even where nothing could be parsed.
 */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from 'tar';
import { makeFolder } from '../host/durable-file.ts';
import { AgentLog } from '../host/log.ts';

/** The service's owner and whoever is given it; nobody else on this machine. */
const ARCHIVE_MODE = 0o600;
const SECRET_NAMES =
  'accessToken|access_token|deviceSecret|deviceKey|provisionDeviceSecret|provisionDeviceKey|password|passphrase|secretKey|credentialsValue|pin|token|secret|proxy';
/** `accessToken: value`, `"accessToken":"value"`, in YAML, JSON and log lines alike; references to files stay. */
const NAMED_VALUE = new RegExp(`(["']?\\b(?:${SECRET_NAMES})["']?\\s*[:=]\\s*)("(?:[^"\\\\]|\\\\.)*"|'[^']*'|[^\\s,}\\]#]+)`, 'gi');
/** The token is a segment of every path of the device API. */
const TOKEN_IN_PATH = /(\/api\/v1\/)(?!provision\b)[^/\s"'?]+/g;
/** User and password of an address. */
const USER_IN_URL = /(\b[a-z][a-z0-9+.-]*:\/\/)[^/\s@"']+@/gi;
const MASK = '[secret]';

export class Redactor {
  readonly #log = new AgentLog({ level: 'error', sink: { write: () => {} } });

  hide(secret: string): void {
    this.#log.hide(secret);
    this.#log.hide(Buffer.from(secret).toString('base64'));
  }

  redact(text: string): string {
    return this.#log
      .redact(text)
      .replace(NAMED_VALUE, (_all, name: string) => `${name}${MASK}`)
      .replace(TOKEN_IN_PATH, `$1${MASK}`)
      .replace(USER_IN_URL, `$1${MASK}@`);
  }
}

/** Packs texts, by file name, into a gzipped tar; nothing of them is left elsewhere. */
export async function packSupportArchive(file: string, texts: Readonly<Record<string, string>>, redactor: Redactor): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-diagnose-'));
  try {
    const inside = 'turnstone-diagnosis';
    await makeFolder(join(folder, inside), 0o700);
    for (const [name, text] of Object.entries(texts))
      await writeFile(join(folder, inside, name), redactor.redact(text), { mode: ARCHIVE_MODE });
    // Made before it is filled, so that nobody reads it in between.
    await writeFile(file, '', { mode: ARCHIVE_MODE });
    await chmod(file, ARCHIVE_MODE);
    await create({ file, gzip: true, cwd: folder, portable: true }, [inside]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

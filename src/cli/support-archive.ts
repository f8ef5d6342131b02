/**
 * One archive for whoever helps from afar: what the gateway is, how it is set up, how it does, what it has logged. Every text passes one
 * redaction: known secrets wherever they stand, and the values of fields that look like secrets even where nothing could be parsed.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from 'tar';
import { systemClock } from '../host/clock.ts';
import { makeFolder } from '../host/files.ts';
import { AgentLog } from '../host/log.ts';

/** Its owner and whoever is given it; nobody else on this machine. */
export const ARCHIVE_MODE = 0o600;
/** Also at the end of longer names: `nextToken`, `TURNSTONE_TOKEN`, `token1`. A text of hyphens is no name. */
const SECRET_NAMES =
  'deviceKey|provisionDeviceKey|credentialsValue|(?:status[_-]?)?pin|pin[_-]?code|(?:\\w{0,40}_)?pass|proxy|jwt|[\\w-]{0,40}(?:cookie|' +
  'token|secret|password|passphrase|passcode|passwd|pwd|psk|(?:api|private|secret|access|shared|encryption)[_-]?key)s?\\d{0,3}';
const HEADER_NAMES = '[\\w-]{0,40}authorization';
/** In quotes, in quotes within a text, a list or an object of them as JSON and YAML write it; no more of it than a name can be followed by often. */
const STRING = '"(?:[^"\\\\]|\\\\[^])*"';
const NESTED_STRING = '\\\\+"[^"\\\\]*\\\\+"';
const ITEM = '"(?:[^"\\\\]|\\\\.){0,500}"|\\\\+"[^"\\\\]{0,500}\\\\+"';
const LIST = `\\[(?:${ITEM}|[^\\]"\\\\]){0,200}\\]|\\{(?:${ITEM}|[^{}"\\\\]){0,200}\\}`;
const QUOTED = `${STRING}|${NESTED_STRING}|'(?:[^']|'')*'|${LIST}`;
/** Without quotes a comma or a bracket ends it where nothing follows that could be more of it. */
const WORD = '(?:[^\\s,}\\]]|[,}\\]](?=[^\\s,{}[\\]"\'\\\\]))+';
/** `accessToken: value`, `"accessToken":"value"`, `--token value`, in YAML, JSON, JSON within JSON and log lines alike; references to files stay. */
const NAMED_VALUE = namedValue(SECRET_NAMES, `${QUOTED}|${WORD}`);
/** `Authorization: Bearer value`. */
const HEADER = namedValue(HEADER_NAMES, `${QUOTED}|${WORD}(?:[ \\t]+(?:\\[secret\\]|${WORD}))?`);
const SCHEME = /^(\\*["'])?(bearer|basic|token|digest|negotiate)[ \t]+/i;
/** `["Authorization","Bearer value"]`. */
const HEADER_PAIR = new RegExp(`(\\\\*["'](?:${HEADER_NAMES})(\\\\*["']),\\s*)(${QUOTED})`, 'gi');
/** `-u`, also behind other letters as in `-su`, `--user` and `--proxy-user`: curl's options for user and password. */
const USER_OPTION = '-[A-Za-z]{0,8}[uU]|--(?:proxy-)?user';
/** `-u user:value`, `--user=user:value`, `"-u","user:value"`; a value without a colon is a user alone, and a quote that ends a bare word is not of it. */
const USER_AND_PASSWORD = new RegExp(
  `((?<![\\w-])(?:(?:${USER_OPTION})(?:[ \\t]*=[ \\t]*|[ \\t]+|\\\\*["']?,\\s*)|-[uU]))` +
    `(${QUOTED}|[^\\s"'\\\\:]{0,256}:(?:${QUOTED}|(?!\\\\*["'])${WORD}(?<!["'\\\\])))`,
  'g',
);
/** `- --token` in YAML; the next line has its value. */
const NAMED_ITEM = new RegExp(`^[ \\t]*-[ \\t]+["']?(?:--(?:${SECRET_NAMES})|${USER_OPTION})["']?[ \\t]*$`, 'i');
const ITEM_LINE = /^([ \t]*-[ \t]+)(?!["']?-)\S.*$/;
/** In YAML it goes to the end of the line, and on in what is indented further. */
const NAMED_LINE = new RegExp(
  `^(\\uFEFF?[ \\t]*(?:[#-][ \\t]+)*)((["']?)(?:${SECRET_NAMES}|${HEADER_NAMES})\\3[ \\t]*:)([ \\t]+(?!["'[{]).*|[ \\t]*)$`,
  'i',
);
/** Also as Windows writes it: what looks for the end of a line finds it nowhere else. */
const LINE_END = /\r\n?|\n/;
/** The token is a segment of every path of the device API. */
const TOKEN_IN_PATH = /(\/api\/v1\/)(?!provision\b)[^/\s"'?]+/g;
/** User and password of an address, whatever signs are in them; schemes are short, and a text of hyphens is none. */
const USER_IN_URL = /(\b[a-z][a-z0-9+.-]{0,30}:\/\/)(?!\/)[^\s"'\\]{1,256}@/gi;
const MASK = '[secret]';

/** Text that may follow a JSON text. */
const MAY_END = /^"\s*(?:[,}\]]|$)/;
/** Text between two JSON texts, with their quotes. */
const BETWEEN = /^"(?:[\s,:{}[\]\d.+-]|true|false|null|e)*"$/i;
/** A value in quotes, and what comes behind one. */
const ENDED_VALUE = /^".*"[\s,;.)}\]]?$/s;

/** Match to replace: all, the name and what follows it, the quote that ends the name, the value; its offset, and the whole text. */
type Match = [all: string, name: string, quoteOfName: string | undefined, value: string, offset: number, text: string];

export class Redactor {
  readonly #log = new AgentLog({ level: 'error', clock: systemClock, sink: { write: () => {} } });

  hide(secret: string): void {
    this.#log.hide(secret);
  }

  redact(text: string): string {
    return withoutLines(this.#log.redact(text))
      .replace(NAMED_VALUE, unlessEnded())
      .replace(HEADER, unlessEnded())
      .replace(HEADER_PAIR, masked)
      .replace(USER_AND_PASSWORD, withoutPassword)
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

function namedValue(names: string, value: string): RegExp {
  return new RegExp(
    `(["']?\\b(?:${names})(\\\\*["'])?\\s*(?:=>|[:=])\\s*|--(?:${names})(?:[ \\t]+|\\\\*["']?,\\s*)(?!-))(${value})`,
    'gi',
  );
}

/** In the quotes that it stood in, or that its name has: what was JSON is JSON. */
function masked(...[, name, quoteOfName, value]: Match): string {
  const quote = /^\\*["']/.exec(value)?.[0] ?? quoteOfName ?? '';
  return `${name}${quote}${schemeOf(value)}${MASK}${quote}`;
}

function withoutPassword(all: string, option: string, value: string): string {
  const isUserAlone = !/:(?!\\*["']$)/.test(value);
  if (isUserAlone) return all;
  const quote = /^\\*["']/.exec(value)?.[0] ?? '';
  return `${option}${quote}${MASK}${quote}`;
}

/**
 * A quote after `token:` may be the end of the text that it stands in, with nothing to mask: the quotes before it in its line tell. As one of
 * them may be a sign for inches, what looks like a value all the same is masked.
 */
function unlessEnded(): typeof masked {
  let [countedTo, isWithin] = [0, false];
  return (all, name, quoteOfName, value, offset, text) => {
    const valueAt = offset + name.length;
    if (quoteOfName !== undefined || !MAY_END.test(text.slice(valueAt, valueAt + 80)))
      return masked(all, name, quoteOfName, value, offset, text);
    for (const [sign] of text.slice(countedTo, valueAt).matchAll(/\\.|"|\n/g)) {
      if (sign === '"') isWithin = !isWithin;
      if (sign === '\n') isWithin = false;
    }
    countedTo = valueAt;
    const isValue = !BETWEEN.test(value) && ENDED_VALUE.test(text.slice(valueAt, valueAt + value.length + 1));
    return isWithin && !isValue ? all : masked(all, name, quoteOfName, value, offset, text);
  };
}

function schemeOf(value: string): string {
  const scheme = SCHEME.exec(value)?.[2];
  return scheme === undefined ? '' : `${scheme} `;
}

function withoutLines(text: string): string {
  let column: number | undefined;
  let mayBeList = false;
  let isNamed = false;
  const safe = text.split(LINE_END).map((line) => {
    const indent = line.search(/\S/);
    const item = isNamed ? ITEM_LINE.exec(line) : null;
    isNamed = NAMED_ITEM.test(line);
    if (item !== null) return `${item[1]}${MASK}`;
    const isOfList = mayBeList && indent === column && /^-\s/.test(line.slice(indent));
    if (column !== undefined && (indent === -1 || indent > column || isOfList))
      return indent === -1 ? line : `${line.slice(0, indent)}${MASK}`;
    const [, before = '', name, , rest = ''] = NAMED_LINE.exec(line) ?? [];
    column = name === undefined ? undefined : before.length;
    const value = rest.trim();
    mayBeList = value === '';
    if (name === undefined || value === '' || /^[|>][-+\d]*(?:\s+#|$)/.test(value)) return line;
    const comment = value.search(/\s#/);
    return `${before}${name} ${schemeOf(value)}${MASK}${comment === -1 ? '' : value.slice(comment)}`;
  });
  return safe.join('\n');
}

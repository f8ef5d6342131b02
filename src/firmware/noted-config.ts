/**
 * With which configuration a trial begins: a sum over its text and over what the files hold that a start needs and it names (drivers,
 * authorities, certificates, keys, secrets). The boot guard makes the same sum again when a release refuses its configuration. What a driver
 * imports is not in it. The text is only searched: root parses nothing of it, and a file that is missed only counts against a release.
 */
import { createHash } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { piecesOf, withPlain } from './file-pieces.ts';
import type { Trial } from './guard-state.ts';
import type { UpdateFiles } from './update-files.ts';

const CONFIG_NAME = 'turnstone.yaml';
/** They are listed in the trial, which is a small file. */
const MAX_FILES = 8;
const MAX_PATH_LENGTH = 256;
/** The guard reads as much of each, and no more. */
const MAX_BYTES = 262_144;
const MAX_LINKS = 8;
/** `file: /a/driver.mjs`, `caFile: "/a/b.pem"`, `accessTokenCredential: turnstone_token`. */
const NAMED =
  /(?<![\w.-])["']?(?:file|\w+(?:File|(?<credential>Credential)))["']?:\s+(?:"(?<quoted>[^"\n]+)"|'(?<single>[^'\n]+)'|(?<plain>[^\s"',{}[\]]+))/g;
const CREDENTIAL = /^(?:turnstone_)?(?<name>[\w-]+)$/;

/** Nothing when there is no configuration to read: the guard then takes a configuration that is refused for unchanged. */
export async function noteConfig(files: UpdateFiles, settingsFolder: string): Promise<Pick<Trial, 'config' | 'file'>> {
  const text = await files.read(join(settingsFolder, CONFIG_NAME)).catch(() => undefined);
  if (text === undefined) return {};
  const sum = createHash('sha256').update(text);
  const noted: string[] = [];
  for (const path of namedFiles(text.toString('utf8'), settingsFolder)) {
    const content = await contentOf(files, path).catch(() => undefined);
    if (content === undefined || noted.length >= MAX_FILES) continue;
    sum.update(content);
    noted.push(path);
  }
  return { config: sum.digest('hex'), ...(noted.length === 0 ? {} : { file: noted }) };
}

function namedFiles(text: string, settingsFolder: string): Set<string> {
  const paths = new Set<string>();
  for (const { groups = {} } of text.matchAll(NAMED)) {
    const value = groups.quoted ?? groups.single ?? groups.plain ?? '';
    const credential = groups.credential === undefined ? undefined : CREDENTIAL.exec(value)?.groups?.name;
    const path = credential === undefined ? value : join(settingsFolder, 'credentials', credential);
    // The trial has one line for each: no line breaks, no long ones.
    if (path.startsWith('/') && path.length <= MAX_PATH_LENGTH && !/\p{Cc}/u.test(path)) paths.add(path);
  }
  return paths;
}

/** The beginning of a regular file, through links, as the shell reads it; undefined when there is none. */
async function contentOf(files: UpdateFiles, path: string): Promise<Uint8Array | undefined> {
  let place = path;
  for (let links = 0; links < MAX_LINKS; links += 1) {
    const target = await files.readLink(place);
    if (target === undefined) break;
    place = resolve(dirname(place), target);
  }
  return withPlain(files, place, async (file) => {
    const pieces: Buffer[] = [];
    for await (const piece of piecesOf(file, MAX_BYTES)) pieces.push(Buffer.from(piece));
    return Buffer.concat(pieces);
  });
}

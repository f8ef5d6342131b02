/** Error codes that a kind tells: those of its folder, and those of the bus, line or port that it is on. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from '../bundle.ts';
import type { ErrorCodeFound } from './error-codes.ts';
import { anchorOf } from './error-page.ts';
import { ERROR_WORDS } from './error-words.ts';
import { code, part, plain, table } from './markdown.ts';

/** Codes of the hardware by the options that say where it is. */
const HARDWARE: readonly (readonly [options: readonly string[], code: RegExp])[] = [
  [['bus'], /^hardware\/i2c-/],
  [['line'], /^hardware\/gpio-/],
  [['port'], /^hardware\/serial-/],
  [['connection'], /^hardware\/(modbus|serial)-/],
  [['url'], /^hardware\/http-/],
  [['chip', 'channel'], /^hardware\/pwm-/],
  [['id', 'resolution'], /^hardware\/one-wire-/],
  [['chip', 'channels'], /^hardware\/kernel-device-/],
  [['chip', 'channels', 'buffer'], /^hardware\/iio-/],
];
const ALL_HARDWARE = /^hardware\/(deadline|no-permission)$/;
const DEADLINE = /^hardware\/deadline$/;
/** Only a simulated board has these. */
const SIMULATED = /simulated board/;
/** Folders of which each belongs to some kinds alone. */
const OF_A_KIND = /^(?:sensors\/(?!conversion\/|kind\/)[^/]+|actuators\/(?!kind\/)[^/]+)\//;

export function kindFaults(
  folders: readonly string[],
  options: readonly string[],
  codes: readonly ErrorCodeFound[],
): string | undefined {
  const named = new Set(folders.flatMap(codesNamedIn));
  const patterns = HARDWARE.filter(([needed]) => needed.every((option) => options.includes(option))).map(
    ([, pattern]) => pattern,
  );
  if (patterns.length > 0) patterns.push(options.includes('url') ? DEADLINE : ALL_HARDWARE);
  const within = folders.map((folder) => `${relative(join(ROOT, 'src'), folder)}/`);
  const isOwn = ({ files }: ErrorCodeFound): boolean =>
    files.some((file) => !/twin/.test(file) && within.some((path) => file.startsWith(path)));
  const found = codes.filter(
    (one) => isOwn(one) || named.has(one.code) || patterns.some((pattern) => pattern.test(one.code)),
  );
  const rows = found.map((one) => [`[${code(one.code)}](../errors.md#${anchorOf(one.code)})`, wordsOf(one, within)]);
  return part('Faults', 'In a message, … stands for a name, a number or the cause.', table(['Code', 'Message'], rows));
}

/** A message of the kind itself, else our words, else a message that is not another kind's. */
function wordsOf({ code: of, messages }: ErrorCodeFound, within: readonly string[]): string {
  const isNear = (file: string): boolean => within.some((path) => file.startsWith(path));
  const known = messages.filter(({ text }) => !SIMULATED.test(text));
  const near = known.find(({ file }) => isNear(file));
  if (near !== undefined) return code(near.text);
  const words = ERROR_WORDS[of];
  if (words !== undefined) return plain(words);
  const common = known.find(({ file }) => !OF_A_KIND.test(file));
  if (common === undefined) throw new Error(`no words for ${of}: scripts/docs/error-words.ts has them`);
  return code(common.text);
}

/** Codes in the comments of a folder's files: `@throws AgentError` with the code. */
function codesNamedIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ts') && !/test|twin/.test(name))
    .flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/`([a-z-]+\/[a-z0-9-]+)`/g)].map(([, named = '']) => named),
    );
}

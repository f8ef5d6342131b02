/** Preset by which a text is read that a pattern does not read: a meter that counts in Wh has the codes of one in kWh. */
import type { Files } from '../../host/files.ts';
import { shippedFiles } from '../../host/model-files.ts';
import { readWhole } from '../../host/whole-file.ts';
import { isJsonObject, type JsonValue, stringifyJson } from '../../values/json.ts';
import { loadLinearPatterns } from '../../values/linear-pattern.ts';

/** Lines that a telegram has at most. */
const MAX_LINES = 256;

/**
 * Returns the options that read most lines of a text: `preset: dsmr with variant: watt-hours`. Looked for among the variants of the sensor's preset and
 * among presets with the same frames: patterns of lines alone fit too much. Undefined where none reads one.
 */
export async function fittingPreset(text: string, preset: string, files: Files): Promise<string | undefined> {
  const { parse } = await import('yaml');
  const presets = new Map<string, JsonValue>();
  for (const { name, path } of await shippedFiles('presets'))
    presets.set(name, parse((await readWhole(files, path, { follow: true }))?.toString() ?? ''));
  const frame = frameOf(presets.get(preset));
  const compile = await loadLinearPatterns();
  const lines = text.split(/[\r\n]+/, MAX_LINES);
  let best: { readonly words?: string; readonly count: number } = { count: 0 };
  for (const [name, tree] of presets) {
    if (!isJsonObject(tree) || (name !== preset && (frame === undefined || frameOf(tree) !== frame))) continue;
    const variants = isJsonObject(tree.variants) ? Object.entries(tree.variants) : [];
    for (const [variant, options] of [['', tree.sensor] as const, ...variants]) {
      if (!isJsonObject(options) || typeof options.pattern !== 'string') continue;
      const pattern = compile(options.pattern);
      const count = lines.filter((line) => pattern.test(line)).length;
      if (count > best.count) best = { words: `preset: ${name}${variant && ` with variant: ${variant}`}`, count };
    }
  }
  return best.words;
}

function frameOf(tree: JsonValue | undefined): string | undefined {
  if (!isJsonObject(tree) || !isJsonObject(tree.sensor) || tree.sensor.frame === undefined) return undefined;
  return stringifyJson(tree.sensor.frame);
}

/** Reads the two records of a run, the board's and the agent's, line by line; a line that a kill cut short is left out. */
import { readFile } from 'node:fs/promises';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../src/values/json.ts';
import type { AppendedValue, ShownValue } from './delivery-verdict.ts';

/** Reads what the board showed, and the edges by which its inputs told of themselves. */
export async function readShown(path: string): Promise<ShownValue[]> {
  return (await lines(path)).flatMap(({ kind, key, value, atMs }) => {
    const shown = { key: String(key), monotonicMs: Number(atMs) };
    if (kind === 'shown') return [{ ...shown, value: value as JsonValue }];
    return kind === 'input' ? [{ ...shown, value: value === 1 }] : [];
  });
}

export async function readAppended(path: string): Promise<AppendedValue[]> {
  return (await lines(path)).map((line) => ({
    life: String(line.life),
    key: String(line.key),
    value: line.value as JsonValue,
    monotonicMs: Number(line.monotonicMs),
  }));
}

async function lines(path: string): Promise<JsonObject[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    try {
      const value = parseJson(line);
      return isJsonObject(value) ? [value] : [];
    } catch {
      return [];
    }
  });
}

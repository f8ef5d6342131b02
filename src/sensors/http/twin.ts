/** Twin on a simulated board: a device that answers with the values that the configuration looks for. */
import { signalOf } from '../../stand-ins/simulated-board/room-signals.ts';
import { textLike } from '../../stand-ins/simulated-board/text-like.ts';
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import type { HttpConfig } from './definition.ts';

export const twin: Twin = {
  fitting: (config: HttpConfig, keys) => {
    const shown = keys.length > 0 ? keys : ['temperature', 'humidity'];
    const values = Object.fromEntries(shown.map((key) => [key, { signal: signalOf(key) }]));
    return { http: { host: new URL(config.url).host, body: bodyOf(config, shown), values } };
  },
};

function bodyOf({ format, paths, separator, columns = [], pattern = '' }: HttpConfig, keys: readonly string[]): string {
  if (format === 'number') return `{${keys[0]}}`;
  if (format === 'regex') return textLike(pattern);
  if (format === 'csv') return columns.map((column) => (column === '' ? '0' : `{${column}}`)).join(separator);
  // A number stands in JSON without quotes, and its place with them while the tree is built.
  const tree = keys.reduce<unknown>(
    (built, key) => withPlace(built, stepsOf(paths?.[key] ?? key), `{${key}}`),
    undefined,
  );
  return JSON.stringify(tree).replace(/"(\{[^"{}]+\})"/g, '$1');
}

function withPlace(tree: unknown, [step, ...rest]: readonly (string | number)[], place: string): unknown {
  if (step === undefined) return place;
  const made: unknown = tree ?? (typeof step === 'number' ? [] : {});
  const members = made as Record<string | number, unknown>;
  members[step] = withPlace(members[step], rest, place);
  return made;
}

/** Steps of a path, read by the twin's own eyes. */
function stepsOf(path: string): readonly (string | number)[] {
  return [...path.matchAll(/\["([^"]*)"\]|\[(\d+)\]|([^.[\]$]+)/g)].map(
    ([, quoted, index, name]) => quoted ?? (index === undefined ? (name ?? '') : Number(index)),
  );
}

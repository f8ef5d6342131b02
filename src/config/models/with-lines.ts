/** Puts port and settings of named lines into the sensors and outputs that are on them, before they are parsed. */
import type { ConfigPath, PathFault } from '../fields/config-fault.ts';
import { didYouMean, oneOf } from '../fields/did-you-mean.ts';
import { findingAtKey } from '../fields/findings.ts';
import { isMapping } from './own-words.ts';

type Mapping = Readonly<Record<string, unknown>>;

/** Options that a line has for all who are on it. */
const OF_LINE = ['port', 'baudRate', 'dataBits', 'parity', 'stopBits', 'rs485'] as const;
/** Stands for the port of a line that is not there, which is one fault and not two. */
const NO_PORT = '/dev/null';

/** The same tree with each `on:` made a port and its settings, which stay beside it. */
export function withLines(root: Mapping): { readonly root: Mapping; readonly faults: readonly PathFault[] } {
  const written = (Array.isArray(root.lines) ? root.lines : []).filter(isMapping);
  const lines = new Map(written.map((line) => [line.name, line]));
  const faults: PathFault[] = [];
  const placed = (item: Mapping, path: ConfigPath): Mapping => {
    const { on } = item;
    if (typeof on !== 'string') return item;
    const names = [...lines.keys()].filter((name) => typeof name === 'string');
    const line = lines.get(on);
    if (line === undefined)
      faults.push({
        path: [...path, 'on'],
        problem: 'no such line:',
        expected: names.length === 0 ? 'the name of a line; lines: has none' : oneOf(names),
        ...didYouMean(on, names),
      });
    const own = OF_LINE.filter((option) => Object.hasOwn(item, option));
    faults.push(
      ...own.map((option) =>
        findingAtKey([...path, option], `${option} beside on:`, `${option} of the line ${on} alone`),
      ),
    );
    const { port = NO_PORT, ...settings } = line ?? {};
    const given = Object.fromEntries(
      OF_LINE.filter((option) => settings[option] !== undefined).map((option) => [option, settings[option]]),
    );
    return { ...item, ...given, port };
  };
  const onLine = (item: unknown, path: ConfigPath): unknown => {
    if (!isMapping(item)) return item;
    const { connection } = item;
    return isMapping(connection)
      ? { ...item, connection: placed(connection, [...path, 'connection']) }
      : placed(item, path);
  };
  const all = (section: 'sensors' | 'actuators'): Mapping =>
    Array.isArray(root[section])
      ? { [section]: root[section].map((item: unknown, at) => onLine(item, [section, at])) }
      : {};
  return { root: { ...root, ...all('sensors'), ...all('actuators') }, faults };
}

/** True when a sensor or an output is on a line by its name. */
export function namesLine(item: unknown): boolean {
  if (!isMapping(item)) return false;
  const { connection } = item;
  return typeof item.on === 'string' || (isMapping(connection) && typeof connection.on === 'string');
}

/** Serial ports under several names: each path would be opened by itself, and nobody would take turns. */
import { realPort } from '../../host/tty-names.ts';
import { type ConfigPath, pathText } from '../fields/config-fault.ts';
import { type Finding, finding } from '../fields/findings.ts';
import type { ConfigDraft } from './draft.ts';

interface NamedPort {
  readonly port: string;
  readonly path: ConfigPath;
  /** Name of the line; undefined for a sensor's or output's own port. */
  readonly line?: string;
}

/** Finds a port that has two paths, and one of a line that somebody names by its path. */
export async function checkPortNames(draft: ConfigDraft): Promise<Finding[]> {
  const { lines = [] } = draft.sections;
  const ports = [
    ...lines.map(({ name, port }, at) => ({ port, path: ['lines', at, 'port'], line: name })),
    ...own(draft),
  ];
  const real = new Map<string, string>();
  for (const { port } of ports) if (port.startsWith('/') && !real.has(port)) real.set(port, await realPort(port));
  const firstOf = new Map<string, NamedPort>();
  return ports.flatMap((named) => {
    const { port, path, line } = named;
    const place = real.get(port) ?? port;
    const first = firstOf.get(place);
    if (first === undefined) firstOf.set(place, named);
    if (first === undefined || (first.port === port && (first.line === undefined || line !== undefined))) return [];
    const expected = first.line === undefined ? first.port : `on: ${first.line} in place of port and settings`;
    // Links to ports change when something is plugged in: the agent runs on.
    return [
      finding(path, 'one port under two names:', `${expected}; ${pathText(first.path)} has it already`, {
        mayPass: first.port !== port,
      }),
    ];
  });
}

/** Ports of sensors and outputs that are on no line by its name. */
function own({ sensors, actuators }: ConfigDraft): readonly NamedPort[] {
  return [...sensors, ...actuators].flatMap(({ config, path }) => {
    if ('port' in config) return config.on === undefined ? [{ port: config.port, path: [...path, 'port'] }] : [];
    if (!('connection' in config) || !('baudRate' in config.connection)) return [];
    const { on, port } = config.connection;
    return on === undefined ? [{ port, path: [...path, 'connection', 'port'] }] : [];
  });
}

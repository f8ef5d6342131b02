/** Options of the demo. */
import { parseArgs } from 'node:util';
import { parseDuration } from '../../src/config/fields/quantity.ts';

export interface DemoOptions {
  readonly forMs?: number;
  readonly json: boolean;
  readonly sabotage: boolean;
  readonly killEveryMs?: number;
  readonly outageMs?: number;
  readonly port: number;
}

export const HELP = `usage: ./scripts/demo.sh [--for 30s] [--json] [--sabotage] [--kill-every 5s] [--outage 30s] [--port 8080]

  --for 30s        end by itself; without it Ctrl-C ends the demo
  --json           last line: {"appended":n,"stored":n,"missing":n,"different":n,"durationS":n}
  --sabotage       a proxy swallows one batch with a 200; the demo must find it, and exits 1
  --kill-every 5s  SIGKILL the agent again and again
  --outage 30s     SIGKILL the platform after ten seconds, and start it again after this long
  --port 8080      where the local platform listens; another free port is taken when it is in use

The exit code is 0 when nothing is missing or different, 1 when something is, 2 for wrong options.
`;

/** @throws Error in words for a person. */
export function readOptions(args: readonly string[]): DemoOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      for: { type: 'string' },
      json: { type: 'boolean', default: false },
      sabotage: { type: 'boolean', default: false },
      'kill-every': { type: 'string' },
      outage: { type: 'string' },
      port: { type: 'string', default: '8080' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`--port ${values.port}: a port from 0 to 65535 is expected`);
  return {
    json: values.json,
    sabotage: values.sabotage,
    port,
    ...optional('forMs', duration('--for', values.for)),
    ...optional('killEveryMs', duration('--kill-every', values['kill-every'])),
    ...optional('outageMs', duration('--outage', values.outage)),
  };
}

function duration(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0) throw new Error(`${flag} ${text}: a duration such as 30s or 2m is expected`);
  return ms;
}

function optional<K extends string>(key: K, value: number | undefined): { readonly [P in K]?: number } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: number });
}

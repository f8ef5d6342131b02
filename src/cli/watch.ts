/** `turnstone watch`: what the sensors show, live: a table with sparklines on a terminal, one line for each change elsewhere. */
import { type Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../config/quantity.ts';
import { systemClock } from '../host/clock.ts';
import { type JsonValue, jsonEqual, stringifyJson } from '../host/json.ts';
import type { AgentStatus } from '../status/agent-status.ts';
import { type AgentFlags, addAgentOptions, connectAgent } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { sparkline } from './sparkline.ts';
import { printable, styleFor } from './style.ts';
import { columns } from './table.ts';
import { shortAge, valueText } from './value-text.ts';

type WatchFlags = AgentFlags & { readonly every: number; readonly times?: number; readonly json?: boolean };

const EXAMPLES = `
Examples:
  $ turnstone watch
  $ turnstone watch --every 5s
  $ turnstone watch --json | jq .value

Ctrl-C ends it.`;

/** As many as a sparkline has room for. */
const HISTORY = 32;
const CLEAR = '\u001b[H\u001b[J';
const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';

interface Watched {
  readonly sensor: string;
  readonly key: string;
  readonly value: JsonValue;
  readonly unit?: string;
  readonly atMs: number;
  readonly history: readonly number[];
}

export function addWatchCommand(program: Command, edge: Edge): void {
  const command = program.command('watch').description('show readings and actuators live');
  addAgentOptions(command)
    .option('--every <duration>', 'how often to look', duration, 1_000)
    .option('--times <number>', 'end after so many looks', count)
    .option('--json', 'print each new reading as one line of JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: WatchFlags) => watch(flags, edge));
}

async function watch(flags: WatchFlags, edge: Edge): Promise<void> {
  const agent = await connectAgent(flags, edge);
  const draws = edge.stdout.isTerminal && flags.json !== true;
  let seen: ReadonlyMap<string, Watched> = new Map();
  if (draws) edge.stdout.write(HIDE_CURSOR);
  try {
    for (let look = 0; !edge.signal.aborted && look !== flags.times; look += 1) {
      if (look > 0) await systemClock.sleep(flags.every, edge.signal);
      const status = (await agent.request('getStatus')) as unknown as AgentStatus;
      const now = watchedOf(status, seen);
      edge.stdout.write(draws ? `${CLEAR}${page(status, now, edge)}` : news(now, seen, flags.json === true));
      seen = now;
    }
  } finally {
    if (draws) edge.stdout.write(SHOW_CURSOR);
    await agent.close();
  }
}

function watchedOf({ sensors }: AgentStatus, before: ReadonlyMap<string, Watched>): ReadonlyMap<string, Watched> {
  const readings = sensors.flatMap(({ name, readings: all }) => all.map((reading) => ({ sensor: name, ...reading })));
  return new Map(
    readings.map((reading) => {
      const id = `${reading.sensor} ${reading.key}`;
      const known = before.get(id);
      const isNew = known?.atMs !== reading.atMs;
      const number = typeof reading.value === 'boolean' ? Number(reading.value) : reading.value;
      const added = isNew && typeof number === 'number' ? [number] : [];
      return [id, { ...reading, history: [...(known?.history ?? []), ...added].slice(-HISTORY) }];
    }),
  );
}

function page(status: AgentStatus, watched: ReadonlyMap<string, Watched>, edge: Edge): string {
  const { bold, dim, red, cyan } = styleFor(edge.stdout, edge.environment);
  const readings = [...watched.values()].map(({ sensor, key, value, unit, atMs, history }) => [
    sensor,
    printable(key),
    valueText(value, unit),
    cyan(sparkline(history)),
    dim(shortAge(status.nowMs - atMs)),
  ]);
  const failing = status.sensors
    .filter(({ state }) => state === 'failing')
    .map(({ name, fault }) => [name, '', red(printable(fault ?? 'fails')), '', '']);
  const actuators = status.actuators.map(({ name, value, fault }) => [
    name,
    '',
    fault === undefined ? valueText(value) : red(printable(fault)),
    '',
    '',
  ]);
  const { connection, outbox } = status;
  const head = `${bold(printable(status.deviceName) || 'turnstone')}  ${connection.state}, ${outbox.heldEntries} entries wait\n\n`;
  return head + columns([...readings, ...failing, ...actuators], edge.stdout.columns);
}

function news(now: ReadonlyMap<string, Watched>, before: ReadonlyMap<string, Watched>, asJson: boolean): string {
  const fresh = [...now].filter(
    ([id, { atMs, value }]) => before.get(id)?.atMs !== atMs && (asJson || !jsonEqual(before.get(id)?.value ?? null, value)),
  );
  return fresh
    .map(([, { sensor, key, value, unit, atMs }]) =>
      asJson
        ? `${stringifyJson({ sensor, key, value, atMs, ...(unit === undefined ? {} : { unit }) })}\n`
        : `${sensor} ${printable(key)} = ${valueText(value, unit)}\n`,
    )
    .join('');
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms < 100) throw new InvalidArgumentError('a duration from 100ms, such as 1s');
  return ms;
}

function count(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('a whole number above 0');
  return Number(text);
}

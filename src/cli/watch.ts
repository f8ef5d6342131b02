/** Shows the sensors live: a table with sparklines on a terminal, one line for each change elsewhere. */
import { systemClock } from '../host/clock.ts';
import { nameText, shownText } from '../names/shown-text.ts';
import type { ActuatorStatus, AgentStatus, SensorStatus } from '../status/shape/agent-status.ts';
import { jsonEqual, stringifyJson } from '../values/json.ts';
import type { WatchCall } from './commands/status.ts';
import { type Printer, printable } from './printer.ts';
import { outputText, shortAge, valueText } from './value-text.ts';

/** As many as a sparkline has room for. */
const HISTORY = 32;
const BLOCKS = '▁▂▃▄▅▆▇█';
const CLEAR = '\u001b[H\u001b[J';
const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';

type Reading = SensorStatus['readings'][number];

interface Watched extends Reading {
  readonly sensor: string;
  /** Its label, else its name. */
  readonly called: string;
  readonly history: readonly number[];
}

export async function watch({ flags, edge, print, agent }: WatchCall): Promise<void> {
  const asked = await agent();
  const draws = edge.stdout.isTerminal && flags.json !== true;
  let seen: ReadonlyMap<string, Watched> = new Map();
  if (draws) print.write(HIDE_CURSOR);
  try {
    for (let look = 0; !edge.signal.aborted && look !== flags.times; look += 1) {
      if (look > 0) await systemClock.sleep(flags.every, edge.signal);
      const status = await asked.ask('getStatus');
      const now = watchedOf(status, seen);
      print.write(draws ? `${CLEAR}${page(status, now, print)}` : news(now, seen, flags.json === true));
      seen = now;
    }
  } finally {
    if (draws) print.write(SHOW_CURSOR);
  }
}

function watchedOf({ sensors }: AgentStatus, before: ReadonlyMap<string, Watched>): ReadonlyMap<string, Watched> {
  const readings = sensors.flatMap(({ name, label: called = name, readings: all }) =>
    all.map((reading) => ({ sensor: name, called, ...reading })),
  );
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

function page(status: AgentStatus, watched: ReadonlyMap<string, Watched>, print: Printer): string {
  const { bold, dim, red, cyan } = print.style;
  const readings = [...watched.values()].map((reading) => [
    printable(reading.called),
    printable(nameText(reading)),
    printable(shownText(reading.value, reading)),
    cyan(sparkline(reading.history)),
    dim(shortAge(status.nowMs - reading.atMs)),
  ]);
  const failing = status.sensors
    .filter(({ state }) => state === 'failing')
    .map(({ name, label = name, fault }) => [printable(label), '', red(printable(fault ?? 'fails'))]);
  const shown = ({ value, fault, class: kind }: ActuatorStatus): string =>
    fault === undefined ? outputText(value, kind) : red(printable(fault));
  const actuators = status.actuators.map((actuator) => [
    printable(actuator.label ?? actuator.name),
    '',
    shown(actuator),
  ]);
  const { platform, outbox } = status;
  const head = `${bold(printable(status.label ?? status.deviceName) || 'turnstone')}  ${printable(platform.words)}, ${outbox.heldEntries} entries wait\n\n`;
  return head + print.table([...readings, ...failing, ...actuators]);
}

function news(now: ReadonlyMap<string, Watched>, before: ReadonlyMap<string, Watched>, asJson: boolean): string {
  const isFresh = ([id, { atMs, value }]: readonly [string, Watched]): boolean =>
    before.get(id)?.atMs !== atMs && (asJson || !jsonEqual(before.get(id)?.value ?? null, value));
  const lines = [...now].filter(isFresh).map(([, { sensor, key, value, unit, atMs }]) => {
    if (asJson) return `${stringifyJson({ sensor, key, value, atMs, unit })}\n`;
    return `${sensor} ${printable(key)} = ${valueText(value, unit)}\n`;
  });
  return lines.join('');
}

/** A curve in one line of text: a block for each number, from the least to the greatest of them; a flat curve lies at the bottom. */
export function sparkline(values: readonly number[]): string {
  const least = Math.min(...values);
  const range = Math.max(...values) - least;
  return values
    .map((value) => BLOCKS[range === 0 ? 0 : Math.round(((value - least) / range) * (BLOCKS.length - 1))] ?? '')
    .join('');
}

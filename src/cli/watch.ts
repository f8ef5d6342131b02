/** Shows the sensors live: on a terminal a table that scrolls, sorts and filters; elsewhere one line for each change. */
import { systemClock } from '../host/clock.ts';
import { printable } from '../names/printable.ts';
import { jsonEqual, stringifyJson } from '../values/json.ts';
import type { AgentCalls } from './agent-calls.ts';
import type { WatchCall } from './commands/status.ts';
import type { Terminal } from './edge.ts';
import { Screen } from './screen.ts';
import { valueText } from './value-text.ts';
import { WatchView } from './watch-view.ts';
import { type Watched, watchedOf } from './watched.ts';

export async function watch(call: WatchCall): Promise<void> {
  const { flags, edge, agent } = call;
  const asked = await agent();
  const terminal = flags.json === true ? undefined : edge.terminal();
  if (terminal === undefined) await printChanges(call, asked);
  else await showTable(call, asked, terminal);
}

async function printChanges({ flags, edge, print }: WatchCall, asked: AgentCalls): Promise<void> {
  let seen: ReadonlyMap<string, Watched> = new Map();
  await eachLook(flags, edge.signal, async () => {
    const now = watchedOf(await asked.ask('getStatus'), seen);
    print.write(news(now, seen, flags.json === true));
    seen = now;
  });
}

async function showTable({ flags, edge, print }: WatchCall, asked: AgentCalls, terminal: Terminal): Promise<void> {
  const ending = new AbortController();
  const view = new WatchView({ style: print.style, sort: flags.sort });
  let draw = (): void => {};
  const user = {
    onKey: (key: Parameters<WatchView['press']>[0]): void => {
      if (view.press(key)) draw();
      else ending.abort();
    },
    onResize: (): void => draw(),
  };
  await Screen.use({ terminal, output: edge.stdout, user }, async (screen) => {
    draw = () => screen.draw(view.lines(screen));
    await eachLook(flags, AbortSignal.any([edge.signal, ending.signal]), async () => {
      view.take(await asked.ask('getStatus'));
      draw();
    });
  });
}

async function eachLook(
  { every, times }: Pick<WatchCall['flags'], 'every' | 'times'>,
  signal: AbortSignal,
  look: () => Promise<void>,
): Promise<void> {
  for (let looks = 0; !signal.aborted && looks !== times; looks += 1) {
    if (looks > 0) await systemClock.sleep(every, signal);
    if (!signal.aborted) await look();
  }
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

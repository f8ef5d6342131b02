/** Many worlds, counted. */
import type { Ground } from './ground.ts';
import { type Fate, World, type WorldOptions } from './world.ts';

export interface Tally extends Record<Fate, number> {
  sent: number;
  lockedOut: number;
  lost: number;
  /** Trials without an end before the next boot. */
  stuck: number;
  /** Edits on site of a file on trial that does not reach the platform: they stay. */
  heldOnSite: number;
  worlds: number;
  edited: number;
  readonly blows: Map<string, number>;
  readonly byMutation: Map<string, Map<Fate, number>>;
  /** A line for each world in which something is wrong, with its seed. */
  readonly failures: string[];
}

/** Fewer would mean that the mutations prove little. */
const LEAST_KEPT = 0.3;
const LEAST_RETURNED = 0.2;

/** @param count files to send at least; with `minutes`, as many of them as that time allows. */
export async function sendMany(
  ground: Ground,
  options: WorldOptions & { readonly count: number; readonly fromSeed: number; readonly minutes?: number },
): Promise<Tally> {
  const { count, fromSeed, minutes = Number.POSITIVE_INFINITY } = options;
  const untilMs = performance.now() + minutes * 60_000;
  const tally: Tally = {
    sent: 0,
    kept: 0,
    refused: 0,
    returned: 0,
    replaced: 0,
    unanswered: 0,
    lockedOut: 0,
    lost: 0,
    stuck: 0,
    heldOnSite: 0,
    worlds: 0,
    edited: 0,
    blows: new Map(),
    byMutation: new Map(),
    failures: [],
  };
  for (let seed = fromSeed; tally.sent < count && performance.now() < untilMs; seed += 1) {
    const lived = await new World(seed, ground, options).live();
    tally.worlds += 1;
    if (lived.heldOnSite) tally.heldOnSite += 1;
    if (lived.wasEdited) tally.edited += 1;
    if (lived.blow !== undefined) raise(tally.blows, lived.blow);
    for (const { name, fate } of lived.sent) {
      tally.sent += 1;
      tally[fate] += 1;
      const fates = tally.byMutation.get(name) ?? new Map<Fate, number>();
      tally.byMutation.set(name, fates);
      raise(fates, fate);
    }
    for (const what of ['lockedOut', 'lost', 'stuck'] as const) {
      if (lived[what] === undefined) continue;
      tally[what] += 1;
      const sent = lived.sent.map(({ name, fate }) => `${name} ${fate}`).join(', ');
      tally.failures.push(`seed ${seed}: ${what}: ${lived[what]} (${sent}; ${lived.blow ?? 'no blow'})`);
    }
  }
  return tally;
}

export function isGood({ sent, kept, returned, lockedOut, lost }: Tally): boolean {
  return lockedOut === 0 && lost === 0 && kept >= LEAST_KEPT * sent && returned >= LEAST_RETURNED * sent;
}

export function tableOf(tally: Tally): string {
  const { sent, worlds, edited, blows, byMutation } = tally;
  const share = (count: number): string => `${count} (${Math.round((100 * count) / sent)} %)`;
  const rows: (readonly [string, string])[] = [
    ['gateways', String(worlds)],
    ['sent', String(sent)],
    ...(['kept', 'refused', 'returned', 'replaced', 'unanswered'] as const).map(
      (fate) => [fate, share(tally[fate])] as const,
    ),
    ['locked out', String(tally.lockedOut)],
    ['lost', String(tally.lost)],
    ['stuck until the next boot', String(tally.stuck)],
    ['held by an edit on site', String(tally.heldOnSite)],
    ['edited on site', String(edited)],
    ...[...blows].sort().map(([name, count]) => [name, String(count)] as const),
    ...[...byMutation]
      .sort()
      .map(([name, fates]) => [`  ${name}`, [...fates].map(([fate, count]) => `${fate} ${count}`).join(', ')] as const),
  ];
  return rows.map(([name, value]) => `${name.padEnd(30)}${value}`).join('\n');
}

function raise<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

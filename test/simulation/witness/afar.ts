/** Configurations from afar, by the sentences of docs/remote-configuration.md. */

import type { People } from '../people.ts';
import type { World } from '../world.ts';
import { onTimes } from './intervals.ts';
import { few, type Sentence, seconds } from './sentence.ts';

/** Digits of a hash that are told. */
const HASH_DIGITS = 12;
/** Ends of a change. */
const ENDS = new Set(['refused', 'kept', 'returned']);
const STATES = new Set(['received', 'trying', ...ENDS]);
/** The agent has taken a file up by then, and moved what it moves for it. */
const TAKEN_UP_MS = 400;
/** Time in which a command that was given may still move something. */
const COMMAND_LIVES_MS = 60_000;
/** What is told is on the disk by then, and somebody has looked. */
const SEEN_WITHIN_MS = 40_000;

export const AFAR: readonly Sentence[] = [
  {
    // "One of the two files is there, whole, at any step."
    name: 'one of the two files of a trial is in place, whole, at any time',
    contradictions: ({ afar }) => few(afar.fileFaults),
  },
  {
    // "Each change is tried, and the previous file returns by itself unless the gateway works with the new one as it did before."
    name: 'after a trial the file of it is in place, or the one before it',
    contradictions: ended,
  },
  {
    // "`configurationState` has the state of the picture"; "`turnstone timeline --kind config`: each change from afar with its state and reason".
    name: 'each configuration from afar ends in one end, and platform, timeline and root tell the same',
    contradictions: told,
  },
  {
    // "What guards people and machines only ever becomes tighter."
    name: 'no limit, interlock or safe state is looser than on site',
    contradictions: ({ afar }) => few(afar.looseFaults),
  },
  {
    // "It begins when the agent has taken the new file up, by a reload, or by a restart where a changed option needs one."
    name: 'a configuration that is taken up by a reload moves nothing',
    contradictions: moved,
  },
];

function ended(world: World): string[] {
  const { afar } = world;
  return few([...afar.endFaults, ...(afar.isOnTrial ? ['a trial is on although all is calm'] : [])]);
}

function told(world: World): string[] {
  if (world.site.remote === undefined || world.disk.wasFaulty || world.fills.length > 0) return [];
  const { reader, afar, lives, timeline, identity } = world;
  const events = reader.seen.filter(({ event }) => event.kind === 'config' && STATES.has(String(event.value)));
  const faults: string[] = [];
  let open: string | undefined;
  for (const [n, { event, atMs }] of events.entries()) {
    const state = String(event.value);
    const before = events[n - 1];
    // What a kill or a cut took of the timeline says nothing.
    const isWhole =
      before !== undefined && !lives.ends.some((endMs) => endMs >= before.afterMs - SEEN_WITHIN_MS && endMs <= atMs);
    const at = `at ${seconds(atMs)} ${state} is told`;
    if (isWhole && open === undefined && (state === 'kept' || state === 'returned'))
      faults.push(`${at}, and nothing is open`);
    if (isWhole && open !== undefined && state === 'received') faults.push(`${at}, and ${open} before it has no end`);
    const verdicts = afar.outcomes.filter(({ hash }) => String(event.words).includes(hash.slice(0, HASH_DIGITS)));
    if (
      state !== 'refused' &&
      ENDS.has(state) &&
      verdicts.length > 0 &&
      !verdicts.some(({ outcome }) => outcome === state)
    )
      faults.push(`${at}, and root says ${verdicts.map(({ outcome }) => outcome).join(', ')}`);
    open = ENDS.has(state) ? undefined : state;
  }
  const attribute = afar.told;
  if (attribute === undefined || identity.removals.length > 0) return few(faults);
  const state = String(attribute.state);
  if (!ENDS.has(state)) faults.push(`the platform is told ${state} although all is calm`);
  const last = events.at(-1);
  const isLastSeen =
    last !== undefined &&
    !lives.ends.some((endMs) => endMs >= last.atMs - SEEN_WITHIN_MS && endMs < last.atMs + SEEN_WITHIN_MS);
  if (isLastSeen && timeline.nowMs > last.atMs && String(last.event.value) !== state)
    faults.push(`the platform is told ${state}, and the timeline ${String(last.event.value)}`);
  const { hash, outcome } = afar.result;
  if (hash !== undefined && hash === attribute.hash && outcome !== state && state !== 'refused')
    faults.push(`the platform is told ${state}, and root says ${outcome}`);
  return few(faults);
}

function moved(world: World, { commands }: People): string[] {
  const { afar, site } = world;
  return few(
    afar.renewals
      .filter(({ how }) => how === 'reload')
      .flatMap(({ atMs }) =>
        site.outputs.flatMap(({ name, line, use, maxOnMs = Number.POSITIVE_INFINITY }) => {
          const untilMs = atMs + TAKEN_UP_MS;
          if (use !== 'set' && use !== 'toggled') return [];
          if (world.lives.ends.some((endMs) => Math.abs(endMs - atMs) < COMMAND_LIVES_MS)) return [];
          if (world.hinderedMs(atMs - COMMAND_LIVES_MS, untilMs) > 0) return [];
          if (
            commands.some(
              (one) =>
                one.params.name === name &&
                one.atMs <= untilMs &&
                (one.answeredAtMs ?? one.atMs + COMMAND_LIVES_MS) >= atMs,
            )
          )
            return [];
          const move = world.movesOf(line).find((one) => one.atMs >= atMs && one.atMs <= untilMs);
          const on = onTimes(world, line).find(({ untilMs: offMs }) => offMs === move?.atMs);
          const isDue = on !== undefined && on.untilMs - on.fromMs >= maxOnMs - TAKEN_UP_MS;
          return move === undefined || isDue
            ? []
            : [`${name} moves at ${seconds(move.atMs)}, after a reload at ${seconds(atMs)}`];
        }),
      ),
  );
}

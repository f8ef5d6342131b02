/** Report of a run: for programs one JSON line, for people a line for each mutant that was not killed, and a table of the rooms. */
import type { Controls, Trial } from './try-mutants.ts';

export interface Survivor {
  /** FILE:LINE */
  readonly at: string;
  readonly room: string;
  readonly operator: string;
  readonly outcome: Trial['outcome'];
  /** The text before and after, on one line. */
  readonly change: string;
}

export interface MutationResult {
  readonly seed: number;
  readonly mutants: number;
  readonly killed: number;
  /** 0 to 1. */
  readonly score: number;
  readonly seconds: number;
  /** Drawn, and not counted, as with them a test file cannot be loaded. */
  readonly unloadable: number;
  /** Test files that fail without any mutant, and so could judge none; with what they say. */
  readonly unfit: readonly string[];
  /** Kills that were tried again without the mutant; one that fails then was none. */
  readonly controls: Controls;
  readonly rooms: Readonly<Record<string, RoomScore>>;
  readonly survivors: readonly Survivor[];
}

interface RoomScore {
  readonly mutants: number;
  readonly killed: number;
  readonly score: number;
  /** How many the sample was drawn from. */
  readonly of: number;
}

const MAX_CHANGE_LENGTH = 100;

export function resultOf(
  trials: readonly Trial[],
  {
    seed,
    seconds,
    unloadable,
    unfit,
    controls,
    counts,
    texts,
  }: {
    readonly seed: number;
    readonly seconds: number;
    readonly unloadable: number;
    readonly unfit: readonly string[];
    readonly controls: Controls;
    /** All mutants of each room. */
    readonly counts: ReadonlyMap<string, number>;
    /** The sources as they are, by file. */
    readonly texts: ReadonlyMap<string, string>;
  },
): MutationResult {
  const killedOf = (some: readonly Trial[]): number => some.filter((one) => one.outcome === 'killed').length;
  const rooms = [...counts].map(([room, of]): [string, RoomScore] => {
    const own = trials.filter((one) => one.mutant.room === room);
    return [room, { mutants: own.length, killed: killedOf(own), score: rounded(killedOf(own) / own.length), of }];
  });
  const survivors = trials
    .filter((one) => one.outcome !== 'killed')
    .sort(
      ({ mutant: a }, { mutant: b }) =>
        a.file.localeCompare(b.file) || a.start - b.start || a.text.localeCompare(b.text),
    )
    .map(({ mutant, outcome }) => {
      const { file, line, room, operator } = mutant;
      return { at: `${file}:${line}`, room, operator, outcome, change: changeOf(mutant, texts.get(file) ?? '') };
    });
  const score = rounded(killedOf(trials) / trials.length);
  return {
    seed,
    mutants: trials.length,
    killed: killedOf(trials),
    score,
    seconds,
    unloadable,
    unfit,
    controls,
    rooms: Object.fromEntries(rooms),
    survivors,
  };
}

export function reportLines({ survivors, rooms, ...all }: MutationResult): string[] {
  const table = [
    ...Object.entries(rooms),
    ['all', { ...all, of: Object.values(rooms).reduce((sum, room) => sum + room.of, 0) }] as const,
  ];
  return [
    ...survivors.map(({ at, operator, outcome, change }) => `${at}  ${outcome}  ${operator}  ${change}`),
    '',
    ...table.map(
      ([room, { mutants, killed, score, of }]) =>
        `${room.padEnd(14)}${killed} of ${mutants} killed (drawn from ${of}): ${score}`,
    ),
    ...all.unfit.map((file) => `not asked, as it fails without any mutant: ${file}`),
    ...all.controls.failed.map((because) => `failed once more without the mutant that it had killed: ${because}`),
    `seed ${all.seed}, ${all.seconds} s, ${all.unloadable} not counted, as nothing loads with them`,
  ];
}

export function changeOf({ start, end, text: becomes }: Trial['mutant'], text: string): string {
  const short = (words: string): string => {
    const line = words.replaceAll(/\s+/g, ' ');
    return line.length > MAX_CHANGE_LENGTH ? `${line.slice(0, MAX_CHANGE_LENGTH)}…` : line;
  };
  return `${short(text.slice(start, end))} → ${becomes === ';' ? 'nothing' : short(becomes)}`;
}

/** Down to three places, never up: 0.8499 is not 0.85. Nothing tried is nothing proven. */
function rounded(score: number): number {
  return Number.isNaN(score) ? 0 : Math.floor(score * 1000) / 1000;
}

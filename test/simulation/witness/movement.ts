/** Movements: none that was not to be, none twice, none for too long. */

import { KEY_SWITCH, type Output } from '../equipment.ts';
import type { Command, People } from '../people.ts';
import type { World } from '../world.ts';
import { blamelessMs, isOnAt, onTimes, was } from './intervals.ts';
import { matched } from './matching.ts';
import { few, type Sentence, seconds } from './sentence.ts';

/** From the last moment at which it was to be switched off to the moment it is. */
const OFF_TOLERANCE_MS = 6_000;
/** A timer may fire this much early, and a relay fall before its command is answered. */
const EARLY_MS = 50;
/** From giving a command to the last moment at which it may still move: what the platform holds it, a slow line, a slow disk. */
const COMMAND_LIVES_MS = 60_000;
/** Interval of looking if the agent runs. */
const SEEN_TO_RUN_MS = 100;

export const MOVEMENT: readonly Sentence[] = [
  { name: 'two outputs that exclude each other are never on at once', contradictions: interlocked },
  { name: 'an output with a longest time is never on for longer', contradictions: limited },
  { name: 'a pulse is as long as it was asked for', contradictions: pulses },
  { name: 'nothing goes on that nobody asked for, and once for each command', contradictions: commanded },
  { name: 'an answer tells of what was done for this command', contradictions: answered },
  { name: 'what was switched off goes off as soon as the hardware takes it', contradictions: switchedOff },
  { name: 'after a stop everything is in its safe state', contradictions: stopped },
  { name: 'after a start everything has been in its safe state', contradictions: started },
];

function interlocked(world: World): string[] {
  const faults: string[] = [];
  for (const one of world.site.outputs)
    for (const name of one.excludes) {
      const other = outputOf(world, name);
      const times = onTimes(world, other.line);
      for (const on of onTimes(world, one.line)) {
        const both = times.find(({ fromMs, untilMs }) => fromMs < on.untilMs && untilMs > on.fromMs);
        if (both !== undefined)
          faults.push(`${one.name} and ${name} were on at ${seconds(Math.max(both.fromMs, on.fromMs))}`);
      }
    }
  return few(faults);
}

function limited(world: World): string[] {
  const faults: string[] = [];
  for (const { name, line, maxOnMs } of world.site.outputs) {
    if (maxOnMs === undefined) continue;
    for (const on of onTimes(world, line))
      if (blamelessMs(world, on) > maxOnMs + OFF_TOLERANCE_MS) faults.push(`${name} was on ${inWords(world, on)}`);
  }
  return few(faults);
}

function pulses(world: World, people: People): string[] {
  const faults: string[] = [];
  for (const { name, line, use } of world.site.outputs) {
    if (use !== 'pulsed') continue;
    const commands = people.commands.filter(({ params }) => params.name === name);
    const times = onTimes(world, line);
    const causes = matched(times.map(({ fromMs }) => commands.filter((command) => mayMoveAt(command, fromMs))));
    for (const [n, on] of times.entries()) {
      const command = causes[n];
      if (command === undefined) continue;
      const longest = Math.max(...commands.filter((one) => mayMoveAt(one, on.fromMs)).map(durationOf));
      if (blamelessMs(world, on) > longest + OFF_TOLERANCE_MS)
        faults.push(`${name} was pulsed ${inWords(world, on)}, for ${longest} ms`);
      const shortest = Math.min(...commands.filter((one) => mayMoveAt(one, on.fromMs)).map(durationOf));
      const wasCut =
        world.hinderedMs(on.fromMs, on.untilMs + 1) > 0 ||
        world.lives.ends.some((endMs) => Math.abs(endMs - on.untilMs) < 10_000) ||
        // Its beginning cannot be known then, and an output that may be on for good is switched off.
        world.pins.muteTimes.some((mute) => mute.fromMs <= on.untilMs && mute.untilMs >= on.fromMs);
      if (on.untilMs - on.fromMs < shortest - EARLY_MS && !wasCut && on.untilMs < world.timeline.nowMs)
        faults.push(`${name} was pulsed ${inWords(world, on)}, for ${shortest} ms`);
    }
  }
  return few(faults);
}

function commanded(world: World, people: People): string[] {
  const faults: string[] = [];
  for (const { name, line, use } of world.site.outputs) {
    if (use === 'free') continue;
    const times = onTimes(world, line);
    const commands = people.commands
      .filter((command) => command.params.name === name && command.params.value !== false)
      .flatMap((command) => [command, ...setOnceMore(world, command)]);
    const causes = matched(times.map(({ fromMs }) => commands.filter((command) => mayMoveAt(command, fromMs))));
    for (const [n, cause] of causes.entries())
      if (cause === undefined)
        faults.push(`${name} went on at ${seconds(times[n]?.fromMs ?? 0)}, for no command or for one that had moved`);
  }
  return few(faults);
}

function answered(world: World, people: People): string[] {
  const faults: string[] = [];
  for (const { name, line } of world.site.outputs) {
    const done = people.commands.filter((command) => command.params.name === name && resultOf(command) !== undefined);
    for (const command of done) {
      const on = resultOf(command) === true;
      const untilMs = command.answeredAtMs ?? command.atMs;
      const fromMs = wasInterrupted(command) ? Math.max(command.atMs, beganBefore(world, untilMs)) : command.atMs;
      if (!was(world, line, on, { fromMs, untilMs }))
        faults.push(`${name} was never ${on ? 'on' : 'off'} ${tell(command)}`);
      if (command.method === 'setActuator' && !wasInterrupted(command) && on !== command.params.value)
        faults.push(`${name} is called ${on ? 'on' : 'off'} ${tell(command)}`);
    }
    // An output that moves each time it is asked for moved once for each answer.
    const moves = world.movesOf(line);
    const moving = done.filter((command) => command.method !== 'setActuator' && !hadNotMoved(command));
    const owned = matched(
      moving.map((command) =>
        moves.filter(({ atMs, on }) =>
          wasInterrupted(command)
            ? atMs >= command.atMs && atMs <= endedBefore(world, command.answeredAtMs ?? 0)
            : on === resultOf(command) && atMs >= command.atMs && atMs <= (command.answeredAtMs ?? 0),
        ),
      ),
    );
    for (const [n, move] of owned.entries()) {
      const command = moving[n];
      if (move === undefined && command !== undefined) faults.push(`${name} did not move ${tell(command)}`);
    }
  }
  return few(faults);
}

function switchedOff(world: World, people: People): string[] {
  const faults: string[] = [];
  for (const { name, line, use } of world.site.outputs) {
    if (use !== 'set') continue;
    const commands = people.commands.filter(({ method, params }) => method === 'setActuator' && params.name === name);
    for (const { answer, atMs, params, answeredAtMs } of commands) {
      if (params.value !== false || answeredAtMs === undefined || !isFailure(answer)) continue;
      const on = onTimes(world, line).find(({ fromMs, untilMs }) => fromMs < atMs && untilMs > answeredAtMs);
      if (on === undefined || blamelessMs(world, { ...on, fromMs: answeredAtMs }) <= OFF_TOLERANCE_MS) continue;
      if (
        commands.some(
          (other) => other.params.value === true && other.atMs > atMs - COMMAND_LIVES_MS && other.atMs < on.untilMs,
        )
      )
        continue;
      faults.push(`${name} was switched off at ${seconds(atMs)}, failed, and was on until ${seconds(on.untilMs)}`);
    }
  }
  return few(faults);
}

function stopped(world: World): string[] {
  return few(
    world.lives.stops.flatMap((atMs) =>
      world.site.outputs
        .filter(({ safeStop, line }) => safeStop !== undefined && isOnAt(world, line, atMs) !== safeStop)
        .filter(() => world.hinderedMs(atMs - 30_000, atMs) === 0)
        .map(
          ({ name, safeStop }) => `${name} was ${safeStop === true ? 'off' : 'on'} after the stop at ${seconds(atMs)}`,
        ),
    ),
  );
}

function started(world: World): string[] {
  return few(
    world.lives.starts.flatMap(({ fromMs, untilMs }) =>
      world.site.outputs
        .filter(
          ({ safeStart, line }) =>
            safeStart !== undefined && !was(world, line, safeStart, { fromMs, untilMs: untilMs + OFF_TOLERANCE_MS }),
        )
        // Lockout holds back what would switch on, and so does an operator's off that outlives a crash. A key switch that cannot be read locks, too.
        .filter(
          ({ safeStart }) =>
            safeStart === false ||
            ![
              ...onTimes(world, KEY_SWITCH),
              ...(world.site.config.rpc.lockout === undefined ? [] : world.pins.muteTimes),
            ].some((one) => one.fromMs < untilMs && one.untilMs > fromMs),
        )
        .filter(({ safeStart }) => safeStart === false || !wasKilled(world, fromMs))
        // An agent that cannot know when it last switched waits for the least time off.
        .filter(({ safeStart, hasMinOff }) => safeStart === false || hasMinOff !== true || !world.disk.wasFaulty)
        .filter(() => world.hinderedMs(untilMs, untilMs + OFF_TOLERANCE_MS) === 0)
        .map(
          ({ name, safeStart }) =>
            `${name} was ${safeStart === true ? 'off' : 'on'} all through the start at ${seconds(untilMs)}`,
        ),
    ),
  );
}

/** True when the life before the one that began then did not end by itself, within its boot. */
function wasKilled({ lives, boots }: World, beganMs: number): boolean {
  const endMs = lives.ends.findLast((atMs) => atMs <= beganMs) ?? Number.NEGATIVE_INFINITY;
  return !lives.stops.includes(endMs) && !boots.bootedAtMs.some((atMs) => atMs >= endMs && atMs <= beganMs);
}

function outputOf(world: World, name: string): Output {
  const output = world.site.outputs.find((one) => one.name === name);
  if (output === undefined) throw new Error(`no output is called ${name}`);
  return output;
}

function mayMoveAt({ atMs: givenMs }: Command, atMs: number): boolean {
  return atMs >= givenMs && atMs <= givenMs + COMMAND_LIVES_MS;
}

/** Returns commands that the life after one that was cut short, which began in a safe state, may carry out once more. */
function setOnceMore(world: World, command: Command): Command[] {
  if (command.method !== 'setActuator') return [];
  return world.lives.ends.filter((endMs) => mayMoveAt(command, endMs)).map((endMs) => ({ ...command, atMs: endMs }));
}

function durationOf({ params }: Command): number {
  return typeof params.durationMs === 'number' ? params.durationMs : 0;
}

/** The agent ended in the midst, and found at its next start that the command had not moved. */
function hadNotMoved({ answer }: Command): boolean {
  return JSON.stringify(answer ?? null).includes('"moved":false');
}

/** The agent ended in the midst: what it says of the command is what it found at its next start. */
function wasInterrupted({ answer }: Command): boolean {
  return JSON.stringify(answer ?? null).includes('"interrupted":true');
}

/** When the life that ran then began to run; it may have answered a moment before anybody saw that. */
function beganBefore({ lives }: Pick<World, 'lives'>, atMs: number): number {
  const began = Math.max(
    Number.NEGATIVE_INFINITY,
    ...lives.starts.map(({ untilMs }) => untilMs).filter((ms) => ms <= atMs),
  );
  return began > endedBefore({ lives }, atMs) ? began : atMs - SEEN_TO_RUN_MS;
}

/** When the last life ended before that. */
function endedBefore({ lives }: Pick<World, 'lives'>, atMs: number): number {
  return Math.max(Number.NEGATIVE_INFINITY, ...lives.ends.filter((ms) => ms <= atMs));
}

/** The hardware did not do it; whether it is to be done is no question. */
function isFailure(answer: Command['answer']): boolean {
  const words = JSON.stringify(answer ?? null);
  return words.startsWith('{"error"') && !words.includes('"outcome-unknown"');
}

/** Returns the output's value by the command's answer; undefined without such an answer. */
function resultOf({ answer }: Command): boolean | undefined {
  if (typeof answer !== 'object' || answer === null || !('result' in answer)) return undefined;
  const { result } = answer as { readonly result: unknown };
  if (typeof result !== 'object' || result === null || !('value' in result)) return undefined;
  return typeof result.value === 'boolean' ? result.value : undefined;
}

function tell({ method, atMs, answeredAtMs }: Command): string {
  return `for the ${method} of ${seconds(atMs)} that was answered as done at ${seconds(answeredAtMs ?? 0)}`;
}

function inWords(world: World, on: { readonly fromMs: number; readonly untilMs: number }): string {
  const hindered = world.hinderedMs(on.fromMs, on.untilMs);
  const beside = hindered === 0 ? '' : `, ${hindered.toFixed(0)} ms of them beyond anybody's reach`;
  return `from ${seconds(on.fromMs)} for ${(on.untilMs - on.fromMs).toFixed(0)} ms${beside}`;
}

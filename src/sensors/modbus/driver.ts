/**
 * A Modbus unit by a map of its registers. Neighbours are read in one request, because a turn-around costs more than a few unused registers.
 * In which order, and what is asked for apart, is the plan's (polling-plan.ts):
 *
 *   refused            bisected, so that a register that the unit does not have, or cannot give, costs only itself
 *   silent, or garbled asked once more: most often an answer got lost. Silent again, it is asked by its halves, as every silence costs a
 *                      time-out, which others on the line wait for: of what is dead one a read
 *
 * When the time of a read is over, what has answered is given all the same. What others left too little time is late, not silent, and comes
 * first in the next.
 *
 * The mark of a missing value differs from maker to maker: NaN is none in every float, `noValue` says the rest. Such a value is left
 * out alone.
 */
import { withMeantAddress } from '../../config/fields/registers.ts';
import { AgentError, hasCode, retryable } from '../../errors/agent-error.ts';
import { type Outcome, sorted } from '../kind/outcome.ts';
import type { Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import type { ModbusConfig } from './definition.ts';
import { isAlone, type PollingGroup, request } from './polling-groups.ts';
import { PollingPlan } from './polling-plan.ts';
import { scaledOutcomes, withScaleRegisters } from './scale-registers.ts';

/** One read of all registers. */
interface Round {
  readonly signal: AbortSignal;
  readonly begunMs: number;
  answered: boolean;
  /** How many silences are borne before anything has answered. */
  patience: number;
  /** The first of them, which says best what is wrong: the next may only say that this one is not over. */
  silence?: AgentError;
  /** Silent in this read: not asked again before the next. */
  readonly silent: Set<string>;
}

/** Outcomes of a group, and the groups to ask for in its place next time. */
interface Given {
  readonly outcomes: readonly Outcome[];
  readonly next: readonly PollingGroup[];
}

/** Reads in which all was given in time before a register that was late is called so no longer. */
const IN_TIME_READS = 20;

/** Faults that the unit itself has said. */
const SAID: ReadonlySet<string> = new Set([
  'hardware/modbus-exception',
  'hardware/modbus-busy',
  'hardware/modbus-working',
]);

/** By the registers as they are configured. */
const plans = new WeakMap<object, PollingPlan>();

export async function open(config: ModbusConfig, { ports, clock }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, connection, unitId, maxGap } = config;
  const registers = withScaleRegisters(config.registers);
  const link = await ports.modbus.open(connection, signal);
  const plan = plans.get(config.registers) ?? new PollingPlan(registers, maxGap);
  plans.set(config.registers, plan);
  const remedy =
    'a longer deadline and period, or fewer requests (a larger maxGap, fewer sensors on its line) give it time';
  const tooLate = retryable('hardware/deadline', `${name}: the deadline was over before this was given; ${remedy}`);
  /** How many reads are left for which each of these is called late. */
  const late = new Map<string, number>();
  let refused: readonly Refusal[] = [];

  const ask = async (group: PollingGroup, round: Round): Promise<readonly Outcome[] | AgentError> => {
    const askedMs = clock.monotonicMs();
    try {
      const outcomes = await request({ link, unitId, registers }, group, round.signal);
      round.answered = true;
      plan.asked(group);
      plan.answered(group);
      return outcomes;
    } catch (fault) {
      if (!isOfRequest(fault)) throw fault;
      if (!isSilence(fault)) {
        round.answered = true;
        plan.asked(group);
        plan.refused(group, fault);
        return fault;
      }
      round.silence ??= fault;
      if (!round.answered) round.patience -= 1;
      const spentMs = askedMs - round.begunMs;
      // A group that others left too little time is not silent: it is the first of the next read.
      if (round.signal.aborted && clock.monotonicMs() - askedMs < spentMs) return tooLate;
      for (const key of group.keys) round.silent.add(key);
      plan.asked(group);
      return fault;
    }
  };
  /** Once more, where it had its answer before. */
  const askTwice = async (group: PollingGroup, round: Round): Promise<readonly Outcome[] | AgentError> => {
    const given = await ask(group, round);
    if (isDoubtful(group) || !isSilence(given) || round.signal.aborted) return given;
    const again = await ask(group, round);
    return again === tooLate ? given : again;
  };
  const readGroup = async (group: PollingGroup, round: Round): Promise<Given> => {
    const wasDoubtful = isDoubtful(group);
    const given = await askTwice(group, round);
    if (!(given instanceof AgentError)) return { outcomes: given, next: [group] };
    if (!isSilence(given)) return await readRefused(group, round, given);
    // Halves of a unit that gives nothing else are asked for only where the unit may refuse the group as a whole.
    if (given === tooLate || (!round.answered && !plan.isUnproven(group))) return notGiven(group, given);
    plan.silent(group, given);
    if (isAlone(group)) return notGiven(group, given);
    const halves = await readHalves(group, round);
    if (wasDoubtful) return halves;
    // Silent in one read may be noise: asked for as a whole once more, though its halves have answered.
    plan.silent(group, given);
    return { outcomes: halves.outcomes, next: [group] };
  };
  const isDoubtful = (group: PollingGroup): boolean => plan.doubtOf(group) !== undefined || plan.isUnproven(group);
  const partsOf = (group: PollingGroup): readonly PollingGroup[] => (isAlone(group) ? [group] : plan.halvesOf(group));
  /** Once each. */
  const readHalves = async (group: PollingGroup, round: Round): Promise<Given> => {
    const halves: Given[] = [];
    for (const half of plan.halvesOf(group)) {
      const given = round.signal.aborted ? tooLate : await ask(half, round);
      if (!(given instanceof AgentError)) halves.push({ outcomes: given, next: [half] });
      else if (!isSilence(given)) halves.push(await readRefused(half, round, given));
      else {
        if (given !== tooLate) plan.silent(half, given);
        halves.push({ ...notGiven(half, given), next: given === tooLate ? [half] : partsOf(half) });
      }
    }
    return joinedOf(halves);
  };
  /** Bisects a refused group. */
  const readRefused = async (group: PollingGroup, round: Round, fault: AgentError): Promise<Given> => {
    if (isAlone(group)) return notGiven(group, withMeantAddress(fault, registers[group.keys[0] ?? '']));
    if (fault.code !== 'hardware/modbus-exception') return notGiven(group, fault);
    if (round.signal.aborted) return notGiven(group, tooLate);
    const halves: Given[] = [];
    for (const half of plan.halvesOf(group))
      halves.push(round.signal.aborted ? notGiven(half, tooLate) : await readGroup(half, round));
    const { outcomes, next } = joinedOf(halves);
    const failures = failuresOf(outcomes);
    // Not for a fault that has passed, or is of all; what there was no time for may be of either kind.
    const isOfSome =
      failures > 0 &&
      (failures < outcomes.length || outcomes.some((outcome) => 'fault' in outcome && outcome.fault === tooLate));
    return { outcomes, next: isOfSome || fault.recovery === 'drop' ? next : [group] };
  };
  /** @throws AgentError when nothing answers: the unit's own silence. */
  const lookForSign = async (signs: readonly PollingGroup[], round: Round): Promise<readonly Outcome[]> => {
    for (const [at, group] of signs.entries()) {
      const given = await ask(group, round);
      if (isSilence(given)) {
        if (given !== tooLate) plan.stillLost(group);
        if (!round.signal.aborted) continue;
        plan.lookNext(signs.slice(given === tooLate ? at : at + 1));
        break;
      }
      plan.found(group);
      for (const other of signs.slice(0, at)) if (round.silence !== undefined) plan.silent(other, round.silence);
      const { outcomes, next } =
        given instanceof AgentError ? await readRefused(group, round, given) : { outcomes: given, next: [group] };
      plan.replace(group, next);
      return outcomes;
    }
    throw round.silence ?? tooLate;
  };
  const readTurn = async (group: PollingGroup, round: Round): Promise<readonly Outcome[]> => {
    const given = await ask(group, round);
    if (!(given instanceof AgentError)) return given;
    const { outcomes, next } = isSilence(given)
      ? { ...notGiven(group, given), next: partsOf(group) }
      : await readRefused(group, round, given);
    if (isSilence(given) && given !== tooLate) plan.silent(group, given);
    plan.replace(group, next);
    return outcomes;
  };
  const readAll = async (
    round: Round,
    { signs, turn }: ReturnType<PollingPlan['begin']>,
  ): Promise<readonly Outcome[]> => {
    const outcomes = signs !== undefined ? [...(await lookForSign(signs, round))] : [];
    if (turn !== undefined) outcomes.push(...(await readTurn(turn, round)));
    if (turn !== undefined) round.patience = 1;
    const asked = new Set(outcomes.map(({ key }) => key));
    let isPatient = true;
    for (const group of plan.order()) {
      if (group.keys.every((key) => asked.has(key))) continue;
      const doubt = plan.doubtOf(group);
      const isDead = plan.isDead(group);
      const isSkipped =
        round.signal.aborted || (isDead && !isPatient) || group.keys.every((key) => round.silent.has(key));
      if (isSkipped) {
        outcomes.push(...notGiven(group, doubt ?? tooLate).outcomes);
        continue;
      }
      const { outcomes: given, next } = await readGroup(group, round);
      plan.replace(group, next);
      outcomes.push(...given);
      // Each silence costs a time-out, which others on the line wait for: of the dead one a read.
      if (isDead && failuresOf(given) > 0) isPatient = false;
      const isTurns = turn !== undefined && round.signal.aborted;
      if (round.answered || isTurns || (round.patience >= 0 && !round.signal.aborted)) continue;
      plan.lost(group, round.silence ?? tooLate);
      throw round.silence ?? tooLate;
    }
    return outcomes;
  };
  return {
    name,
    read: async (readSignal) => {
      const begun = plan.begin();
      const patience = begun.signs !== undefined ? 0 : 1;
      const round: Round = {
        signal: readSignal,
        begunMs: clock.monotonicMs(),
        answered: false,
        patience,
        silent: new Set(),
      };
      const outcomes = await readAll(round, begun);
      plan.end();
      // A read whose time another group's turn took is repeated in the next: nothing is missing, and the unit is not silent.
      if (begun.turn !== undefined && !round.answered) return [];
      const given = sorted(scaledOutcomes(outcomes, registers));
      for (const [key, left] of late) left > 0 ? late.set(key, left - 1) : late.delete(key);
      // A group that another's turn left no time for is neither given nor missing again.
      const missing = given.refused.flatMap((one) => {
        if (one.fault !== tooLate) return [one];
        if (begun.turn === undefined) late.set(one.key, IN_TIME_READS);
        return refused.filter(({ key, fault }) => begun.turn !== undefined && key === one.key && fault !== tooLate);
      });
      const others = [...late.keys()].filter((key) => missing.every((one) => one.key !== key));
      refused = [...missing, ...others.map((key) => ({ key, fault: tooLate }))];
      const readings = new Map(given.readings.map((reading) => [reading.key, reading]));
      return Object.keys(config.registers).flatMap((key) => readings.get(key) ?? []);
    },
    refused: () => refused,
    close: () => link.close(),
  };
}

/** True when the request itself failed, whatever the values would be. */
function isOfRequest(fault: unknown): fault is AgentError {
  const codes = [
    'modbus-exception',
    'modbus-busy',
    'modbus-working',
    'modbus-no-answer',
    'modbus-bad-answer',
    'deadline',
  ] as const;
  return codes.some((code) => hasCode(fault, `hardware/${code}`));
}

function notGiven(group: PollingGroup, fault: AgentError): Given {
  return { outcomes: group.keys.map((key) => ({ key, fault })), next: [group] };
}

function joinedOf(parts: readonly Given[]): Given {
  return { outcomes: parts.flatMap(({ outcomes }) => outcomes), next: parts.flatMap(({ next }) => next) };
}

function failuresOf(outcomes: readonly Outcome[]): number {
  return outcomes.filter((outcome) => 'fault' in outcome && isOfRequest(outcome.fault)).length;
}

/** True when no answer came that could be understood. */
function isSilence(given: readonly Outcome[] | AgentError): boolean {
  return given instanceof AgentError && !SAID.has(given.code);
}

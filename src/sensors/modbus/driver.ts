/**
 * A Modbus unit by a map of its registers. Neighbours are read in one request, because a turn-around costs more than a few unused registers.
 *
 *   refused            bisected, so that a register that the unit does not have, or cannot give, costs only itself
 *   silent, or garbled asked once more: most often an answer got lost. Silent again while others answer, it is asked by its halves, until a
 *                      register that is dead stands alone; of these one a read, as every silence costs a time-out, which others wait for
 *
 * When the time of a read is over, what has answered is given all the same. What others left too little time is late, not silent, and comes
 * first in the next. The mark of a missing value differs from maker to maker: NaN is none in every float, `noValue`, `min` and `max` say the
 * rest. Such a value is left out alone.
 */
import { AgentError, hasCode, retryable } from '../../errors/agent-error.ts';
import { type Outcome, sorted } from '../kind/outcome.ts';
import type { Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import type { ModbusConfig } from './definition.ts';
import { isAlone, type PollingGroup, request } from './polling-groups.ts';
import { PollingPlan } from './polling-plan.ts';

/** One read of all registers. */
interface Round {
  readonly signal: AbortSignal;
  readonly begunMs: number;
  answered: boolean;
  silences: number;
  /** The first of them, which says best what is wrong. */
  silence?: AgentError;
  /** Groups that were, before anything answered. */
  readonly silent: PollingGroup[];
  /** Registers that were asked for alone and not given. */
  readonly missed: Map<PollingGroup, AgentError>;
}

/** Outcomes of a group, and the groups to ask for in its place next time. */
interface Given {
  readonly outcomes: readonly Outcome[];
  readonly next: readonly PollingGroup[];
}

/** Reads in which all was given in time before a register that was late is called so no longer. */
const IN_TIME_READS = 20;

/** By the registers as they are configured. */
const plans = new WeakMap<object, PollingPlan>();

export async function open(config: ModbusConfig, { ports, clock }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, connection, unitId, registers, maxGap } = config;
  const link = await ports.modbus.open(connection, signal);
  const plan = plans.get(registers) ?? new PollingPlan(registers, maxGap);
  plans.set(registers, plan);
  const remedy = 'a longer deadline and period, or fewer requests (a larger maxGap, fewer sensors on its line) give it time';
  const tooLate = retryable('hardware/deadline', `${name}: the deadline was over before this was given; ${remedy}`);
  /** How many reads are left for which each of these is called late. */
  const late = new Map<string, number>();
  let refused: readonly Refusal[] = [];

  const ask = async (group: PollingGroup, round: Round): Promise<readonly Outcome[] | AgentError> => {
    const askedMs = clock.monotonicMs();
    try {
      const outcomes = await request({ link, unitId, registers }, group, round.signal);
      round.answered = true;
      round.missed.delete(group);
      plan.asked(group);
      plan.answered(group);
      return outcomes;
    } catch (fault) {
      if (!isOfRequest(fault)) throw fault;
      if (isSilence(fault)) {
        round.silence ??= fault;
        // A group that others left too little time is not silent: it is the first of the next read.
        if (round.signal.aborted && clock.monotonicMs() - askedMs < askedMs - round.begunMs) return tooLate;
        round.silences += 1;
      } else round.answered = true;
      plan.asked(group);
      plan.doubt(group);
      if (isAlone(group)) round.missed.set(group, fault);
      return fault;
    }
  };
  const readGroup = async (group: PollingGroup, round: Round): Promise<Given> => {
    const isTrusted = plan.isTrusted(group);
    const wasJoined = plan.isJoined(group);
    let given = await ask(group, round);
    if (isTrusted && isSilence(given) && !round.signal.aborted) {
      const again = await ask(group, round);
      if (again !== tooLate) given = again;
    }
    if (!(given instanceof AgentError)) return { outcomes: given, next: [group] };
    const wasSilent = isSilence(given);
    // No part is asked for of a unit that gives nothing at all, nor of a group of which an answer may have got lost, with no time left to ask again.
    if (given === tooLate || isAlone(group) || (wasSilent && isTrusted && round.signal.aborted)) return notGiven(group, given);
    if (!round.answered && !wasJoined) round.silent.push(group);
    if (!round.answered && !wasJoined) return notGiven(group, given);
    const halves: Given[] = [];
    for (const half of plan.halvesOf(group)) {
      if (round.signal.aborted) halves.push(notGiven(half, tooLate));
      else halves.push(wasSilent ? await readOnce(half, round) : await readGroup(half, round));
    }
    const outcomes = halves.flatMap((half) => half.outcomes);
    const next = halves.flatMap((half) => half.next);
    if (wasSilent || given.recovery === 'drop') return { outcomes, next };
    const failures = outcomes.flatMap((outcome) => ('fault' in outcome && isOfRequest(outcome.fault) ? [outcome.fault] : []));
    // Not for a fault that has passed, or is of all; what there was no time for may be of either kind.
    const isOfSome = failures.length > 0 && (failures.length < outcomes.length || failures.includes(tooLate));
    return { outcomes, next: isOfSome ? next : [group] };
  };
  const readOnce = async (group: PollingGroup, round: Round): Promise<Given> => {
    const given = await ask(group, round);
    return given instanceof AgentError ? notGiven(group, given) : { outcomes: given, next: [group] };
  };
  /** @throws AgentError when nothing answers: the unit's own silence. */
  const readAll = async (round: Round, turn: PollingGroup | undefined): Promise<readonly Outcome[]> => {
    const sign = plan.isLost ? plan.sign() : undefined;
    const outcomes = sign === undefined ? [] : [...(await readOnce(sign, round)).outcomes];
    if (sign !== undefined && !round.answered) throw round.silence ?? tooLate;
    if (sign !== undefined) plan.found();
    let isPatient = true;
    for (const group of turn === undefined ? plan.order() : [turn, ...plan.order().filter((one) => one !== turn)]) {
      if (group.keys.join() === sign?.keys.join()) continue;
      const isGivenUp = plan.isGivenUp(group);
      if (round.signal.aborted || (isGivenUp && !isPatient)) {
        outcomes.push(...notGiven(group, plan.faultOf(group) ?? tooLate).outcomes);
        continue;
      }
      const { silences } = round;
      const given = await readGroup(group, round);
      plan.replace(group, given.next);
      outcomes.push(...given.outcomes);
      if (isGivenUp) isPatient &&= round.silences === silences;
      else if (!round.answered && round.silences > 1) break;
    }
    // Its time went to the turn of one in doubt: nothing is missing, and the unit is not silent.
    const wasItsTurn = turn !== undefined && !round.answered && round.silences === 1;
    for (const group of round.answered || wasItsTurn ? round.silent : []) plan.replace(group, plan.halvesOf(group));
    if (round.answered || wasItsTurn) return round.answered ? outcomes : [];
    plan.lost(round.silent);
    throw round.silence ?? tooLate;
  };
  return {
    name,
    read: async (readSignal) => {
      const round: Round = {
        signal: readSignal,
        begunMs: clock.monotonicMs(),
        answered: false,
        silences: 0,
        silent: [],
        missed: new Map(),
      };
      const turn = plan.turn();
      const outcomes = await readAll(round, turn);
      for (const [group, fault] of plan.isLost ? [] : round.missed) plan.missed(group, fault);
      plan.end();
      if (outcomes.length === 0) return [];
      const given = sorted(outcomes);
      for (const [key, left] of late) left > 0 ? late.set(key, left - 1) : late.delete(key);
      const missing = given.refused.filter(({ fault }) => fault !== tooLate);
      if (turn === undefined) for (const { key, fault } of given.refused) if (fault === tooLate) late.set(key, IN_TIME_READS);
      const others = [...late.keys()].filter((key) => missing.every((one) => one.key !== key));
      refused = [...missing, ...others.map((key) => ({ key, fault: tooLate }))];
      const readings = new Map(given.readings.map((reading) => [reading.key, reading]));
      return Object.keys(registers).flatMap((key) => readings.get(key) ?? []);
    },
    refused: () => refused,
    close: () => link.close(),
  };
}

/** True when the request itself failed, whatever the values would be. */
function isOfRequest(fault: unknown): fault is AgentError {
  const codes = ['modbus-exception', 'modbus-no-answer', 'modbus-bad-answer', 'deadline'] as const;
  return codes.some((code) => hasCode(fault, `hardware/${code}`));
}

function notGiven(group: PollingGroup, fault: AgentError): Given {
  return { outcomes: group.keys.map((key) => ({ key, fault })), next: [group] };
}

/** True when no answer came that could be understood. */
function isSilence(given: readonly Outcome[] | AgentError): boolean {
  return given instanceof AgentError && given.code !== 'hardware/modbus-exception';
}

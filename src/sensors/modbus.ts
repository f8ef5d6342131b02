/**
 * A Modbus unit by a map of its registers. Neighbours are read in one request, because a turn-around costs more than a few unused registers.
 *
 *   refused            asked again by halves, so that a register that the unit does not have, or cannot give, costs only itself
 *   silent, or garbled asked once more: most often an answer got lost. Silent again, it is asked by halves, and what of them is silent by its
 *                      halves at the next read, as every silence costs a time-out. A unit that has answered nothing yet is not asked for
 *                      all the rest; nor once more, when it was as silent in the read before: others wait for the same line
 *
 * The halves take its place when some of them cannot be read, and are joined again after JOIN_AFTER_READS. When the time of a read is over,
 * what has answered is given all the same, and what was not asked for comes first in the next, unless it was silent before. So does what
 * was cut short by that, as others had taken most of the time: that is never called silent. What was silent before is asked last, where
 * others may leave it no time for ever: after JOIN_AFTER_READS it is once the first of a read.
 *
 * What a unit shows that has no value differs from maker to maker: NaN is none in every float, `noValue`, `min` and `max` say the rest. Such
 * a value is left out alone.
 */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { AgentError, hasCode } from '../errors.ts';
import type { ModbusLink } from '../hardware/modbus-port.ts';
import { decodeModbus } from '../hardware/modbus-values.ts';
import { type Outcome, outcomeOf, sorted } from './outcome.ts';
import { halvesOf, type ModbusRegister, type PollingGroup, pollingGroups, registerOf, widthOf } from './polling-groups.ts';
import { registerValue } from './register-value.ts';
import type { Reading, Refusal, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';

/** One read of all registers. */
interface Round {
  readonly signal: AbortSignal;
  readonly begunMs: number;
  answered: boolean;
  /** How many silences are borne before anything has answered. */
  patience: number;
  /** The first of them, which says best what is wrong: the next may only say that this one is not over. */
  silence?: AgentError;
  /** What was asked when most of the time was over, and had no time to answer. */
  cut?: PollingGroup;
}

/** How to ask for what was silent when it was last asked for: without asking once more, or not as a whole. */
type Doubt = 'once' | 'halves';

/** What was read of a group, and what to ask for in its place next time. */
interface Given {
  readonly outcomes: readonly Outcome[];
  readonly next: readonly PollingGroup[];
}

/** A noisy hour parts what belongs together: seldom enough to cost nothing, often enough that the parts stay few. */
const JOIN_AFTER_READS = 100;

export async function openModbus(config: SensorConfigOf<'modbus'>, { ports, clock }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, connection, unitId, registers, maxGap } = config;
  const link = await ports.modbus.open(connection, signal);
  let groups = pollingGroups(registers, maxGap);
  const tooLate = new AgentError('hardware/deadline', `${name}: its time was over before this was given`, { recovery: 'retry' });
  const doubts = new WeakMap<PollingGroup, Doubt>();
  /** Faults that say less of a register than of the time that others took. */
  const late = new WeakSet([tooLate]);
  /** Those in doubt that are to be asked first once, one a read: a dead one may take all of its time. */
  let due: PollingGroup[] = [];
  let reads = 0;
  let isSilent = false;
  let refused: readonly Refusal[] = [];

  const ask = async (group: PollingGroup, round: Round, doubt?: Doubt): Promise<readonly Outcome[] | AgentError> => {
    const askedMs = clock.monotonicMs();
    try {
      const raw = await readRaw(link, unitId, group, round.signal);
      round.answered = true;
      doubts.delete(group);
      return outcomesOf(group, registers, raw);
    } catch (fault) {
      if (!isOfRequest(fault)) throw fault;
      if (isSilence(fault)) {
        const spentMs = askedMs - round.begunMs;
        const isCut = round.signal.aborted && clock.monotonicMs() - askedMs < spentMs;
        if (!isCut) doubts.set(group, doubt === undefined ? 'once' : 'halves');
        else if (!doubts.has(group)) round.cut = group;
        if (round.signal.aborted && spentMs > 0) late.add(fault);
        if (!round.answered) round.patience -= 1;
        round.silence ??= fault;
        if (round.patience < 0 || (round.signal.aborted && !round.answered)) throw round.silence;
        if (isCut) return tooLate;
      }
      return fault;
    }
  };
  const readGroup = async (group: PollingGroup, round: Round, isHalf = false): Promise<Given> => {
    const doubt = doubts.get(group);
    if (doubt === 'halves' && group.keys.length > 1) {
      if (!round.answered) round.patience += 1;
      return await readSilent(group, round);
    }
    let given = await ask(group, round, doubt);
    if (isSilence(given) && doubt === undefined && !round.signal.aborted) given = await ask(group, round);
    if (!(given instanceof AgentError)) return { outcomes: given, next: [group] };
    if (round.signal.aborted && group.keys.length > 1) return notGiven(group, tooLate);
    if (group.keys.length === 1 || (isHalf && isSilence(given))) return notGiven(group, given);
    return isSilence(given) ? await readSilent(group, round) : await readRefused(group, round, given);
  };
  const readSilent = async (group: PollingGroup, round: Round): Promise<Given> => {
    const halves = halvesOf(group, registers, maxGap);
    for (const half of halves) doubts.set(half, 'once');
    const { outcomes, next } = await readEach(halves, round, true);
    if (failuresOf(outcomes) > 0) return { outcomes, next };
    doubts.set(group, 'once');
    return { outcomes, next: [group] };
  };
  const readRefused = async (group: PollingGroup, round: Round, { recovery }: AgentError): Promise<Given> => {
    const { outcomes, next } = await readEach(halvesOf(group, registers, maxGap), round);
    const failures = failuresOf(outcomes);
    // Not for a fault that has passed, or is of all.
    return { outcomes, next: recovery === 'drop' || (failures > 0 && failures < outcomes.length) ? next : [group] };
  };
  const readEach = async (halves: readonly PollingGroup[], round: Round, areSilent = false): Promise<Given> => {
    const given: Given[] = [];
    for (const half of halves) given.push(round.signal.aborted ? notGiven(half, tooLate) : await readGroup(half, round, areSilent));
    return { outcomes: given.flatMap((one) => one.outcomes), next: given.flatMap((one) => one.next) };
  };
  const readAll = async (round: Round): Promise<readonly Outcome[]> => {
    const turn = due.shift();
    // What does answer comes before what was silent.
    const placeOf = (group: PollingGroup): number => (group === turn ? -1 : Number(doubts.has(group)));
    const waiting = groups.toSorted((one, other) => placeOf(one) - placeOf(other));
    const outcomes: Outcome[] = [];
    const asked: PollingGroup[] = [];
    try {
      for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
        asked.push(group);
        const given = await readGroup(group, round);
        asked.splice(-1, 1, ...given.next);
        outcomes.push(...given.outcomes);
        if (round.signal.aborted) break;
      }
    } finally {
      // Those whose turn did not come are the first next time.
      groups = [...asked.filter((group) => group === round.cut), ...waiting, ...asked.filter((group) => group !== round.cut)];
    }
    return [...outcomes, ...waiting.flatMap((group) => notGiven(group, tooLate).outcomes)];
  };
  /** All in as few requests as at first; what was asked for just now and not given stays alone, and what is in doubt last, but for a turn. */
  const join = (): void => {
    const alone = new Set(refused.filter(({ fault }) => isOfRequest(fault) && fault !== tooLate).map(({ key }) => key));
    const joined = pollingGroups(registers, maxGap, alone);
    if (joined.length < groups.length) {
      const doubtful = new Set(groups.filter((group) => doubts.has(group)).flatMap(({ keys }) => keys));
      groups = joined;
      for (const group of joined) if (group.keys.some((key) => doubtful.has(key))) doubts.set(group, 'once');
    }
    const without = new Set(refused.filter(({ fault }) => late.has(fault)).map(({ key }) => key));
    due = groups.filter((group) => doubts.has(group) && group.keys.some((key) => without.has(key)));
  };
  return {
    name,
    read: async (readSignal) => {
      const round: Round = { signal: readSignal, begunMs: clock.monotonicMs(), answered: false, patience: isSilent ? 0 : 1 };
      const outcomes = await readAll(round).finally(() => {
        isSilent = !round.answered;
      });
      const given = sorted(outcomes);
      refused = given.refused;
      if (++reads % JOIN_AFTER_READS === 0) join();
      const readings = new Map(given.readings.map((reading) => [reading.key, reading]));
      return Object.keys(registers).flatMap((key) => readings.get(key) ?? []);
    },
    refused: () => refused,
    close: () => link.close(),
  };
}

/** @throws AgentError `hardware/modbus-no-number`, `sensors/no-value`, `sensors/out-of-range` (all retry). */
export function readingOf(key: string, register: ModbusRegister, words: readonly number[]): Reading {
  const { unit, bit, length, type } = register;
  const raw = decodeModbus(words, { ...register, ...(bit !== undefined && { bit }), ...(length !== undefined && { length }) });
  const bits = type.startsWith('float') ? undefined : 16 * words.length;
  const value = typeof raw === 'number' || typeof raw === 'bigint' ? registerValue(key, raw, bits, register) : raw;
  return { key, value, ...(unit !== undefined && { unit }) };
}

/** Whether what was asked has no answer, whatever its values would be. */
function isOfRequest(fault: unknown): fault is AgentError {
  const codes = ['modbus-exception', 'modbus-no-answer', 'modbus-bad-answer', 'deadline'] as const;
  return codes.some((code) => hasCode(fault, `hardware/${code}`));
}

function notGiven(group: PollingGroup, fault: AgentError): Given {
  return { outcomes: group.keys.map((key) => ({ key, fault })), next: [group] };
}

function failuresOf(outcomes: readonly Outcome[]): number {
  return outcomes.filter((outcome) => 'fault' in outcome && isOfRequest(outcome.fault)).length;
}

/** Whether no answer came that could be understood. */
function isSilence(given: readonly Outcome[] | AgentError): boolean {
  return given instanceof AgentError && given.code !== 'hardware/modbus-exception';
}

/** Registers as numbers, bits as booleans. */
async function readRaw(
  link: ModbusLink,
  unitId: number,
  { table, address, count }: PollingGroup,
  signal: AbortSignal,
): Promise<readonly (number | boolean)[]> {
  return table === 'coil' || table === 'discrete'
    ? await link.readBits(unitId, table, address, count, signal)
    : await link.readRegisters(unitId, table, address, count, signal);
}

function outcomesOf(
  { address, keys }: PollingGroup,
  registers: Readonly<Record<string, ModbusRegister>>,
  raw: readonly (number | boolean)[],
): readonly Outcome[] {
  return keys.map((key) => {
    const register = registerOf(registers, key);
    const from = register.address - address;
    const words = raw.slice(from, from + widthOf(register));
    return outcomeOf(key, () => (typeof words[0] === 'boolean' ? { key, value: words[0] } : readingOf(key, register, words.map(Number))));
  });
}

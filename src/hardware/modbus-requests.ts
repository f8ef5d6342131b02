/** Requests to units behind one connection, each in its turn among those of all who share it. */
import { isHost } from '../config/fields/line-agreement.ts';
import { AgentError, hasCode, messageOf, retryable } from '../errors/agent-error.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { deadlineError } from './deadline.ts';
import {
  checkWritten,
  FUNCTION,
  IDENTIFICATION_REQUEST,
  isWrite,
  MODBUS_BUSY,
  MODBUS_WORKING,
  maskWriteRequest,
  parseBits,
  parseIdentification,
  parseRegisters,
  parseServerId,
  readRequest,
  SERVER_ID_REQUEST,
  writeCoilRequest,
  writeRegistersRequest,
} from './modbus-pdu.ts';
import type { ModbusConnection, ModbusRequests, RegisterBit, WriteFunction } from './modbus-port.ts';
import type { ModbusTransport } from './modbus-transports.ts';
import type { Outages } from './outages.ts';
import type { TurnQueue, TurnRank } from './turn-queue.ts';

/** State of a connection, common to all its users. */
export interface SharedLink {
  readonly transport: ModbusTransport;
  readonly queue: TurnQueue;
  /** Units that did not take "off" when they were told, and have answered nothing since. */
  readonly refusing: Set<number>;
  readonly outages: Outages;
  readonly connection: ModbusConnection;
  /** When the units hear, after the line was opened or the last answer came. */
  freeAtMs: number;
}

/** Waits of a unit that says it is busy, doubled from one try to the next: 3 s in all, unless the deadline is over before. */
const FIRST_BUSY_MS = 50;
const MAX_BUSY_MS = 1_600;

export interface RequestsDeps {
  readonly shared: SharedLink;
  readonly responseTimeoutMs: number;
  readonly clock: Clock;
}

export function requestsOf(
  { shared, responseTimeoutMs, clock }: RequestsDeps,
  rank: TurnRank,
  code?: WriteFunction,
): ModbusRequests {
  const { queue, transport, refusing, outages, connection } = shared;
  const { connectDelayMs = 0, betweenRequestsMs = 0 } = connection;
  const ready = async (signal: AbortSignal): Promise<void> => {
    if (!transport.line.isOpen) {
      await transport.line.connect(signal);
      shared.freeAtMs = Math.max(shared.freeAtMs, clock.monotonicMs() + connectDelayMs);
    }
    await clock.sleep(shared.freeAtMs - clock.monotonicMs(), signal);
    if (signal.aborted) throw deadlineError(`waiting until ${transport.line.label} hears`, signal);
  };
  const noLine = (error: unknown): never => {
    outages.silent('line');
    throw error;
  };
  /** One request of a turn. */
  const exchange = async <T>(
    unitId: number,
    pdu: Uint8Array,
    parse: (answer: Uint8Array) => T,
    signal: AbortSignal,
  ): Promise<T> => {
    // The response time-out runs from the request's own turn; the caller's signal also covers the waiting.
    const once = async <R>(work: (limit: AbortSignal) => Promise<R>): Promise<R> => {
      if (!transport.line.isOpen || clock.monotonicMs() < shared.freeAtMs)
        await withinMs(clock, responseTimeoutMs + connectDelayMs + betweenRequestsMs, ready, signal).catch(noLine);
      try {
        return await withinMs(clock, responseTimeoutMs, work, signal);
      } finally {
        shared.freeAtMs = clock.monotonicMs() + betweenRequestsMs;
      }
    };
    // A host that hangs up after each answer may do so while the next request is on its way: it goes again. No request does harm twice.
    const inTime = async <R>(work: (limit: AbortSignal) => Promise<R>): Promise<R> => {
      const isKept = transport.line.isOpen;
      return await once(work).catch((error: unknown) => {
        if (isKept && transport.line.hungUpUnanswered) return once(work);
        throw error;
      });
    };
    try {
      const settle = rank === 'off' ? undefined : transport.settling(unitId, pdu);
      if (settle !== undefined) await inTime(settle);
      const answer = parse(
        await inTime((limit) =>
          transport.exchange(unitId, pdu, limit).catch((error: unknown) => {
            if (!isHost(connection)) throw error;
            const isLate = hasCode(error, 'hardware/deadline') && !signal.aborted;
            if (!isWrite(pdu)) throw isLate ? lateBehindGateway(error, responseTimeoutMs) : error;
            // A gateway may hold it, and send it on although nobody waits any more.
            throw retryable('hardware/outcome-unknown', `${messageOf(error)}, and the write may still arrive`, error);
          }),
        ),
      );
      refusing.delete(unitId);
      outages.answered(unitId);
      return answer;
    } catch (error) {
      if (isSilence(error)) outages.silent(unitId);
      else if (hasCode(error, 'hardware/modbus-exception')) outages.answered(unitId);
      if (rank === 'off') refusing.add(unitId);
      throw error;
    }
  };
  const inTurn = <T>(unitId: number, work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    const turn = rank !== 'reading' && refusing.has(unitId) ? 'again' : rank;
    return queue.run(work, { what: `Modbus unit ${unitId}`, rank: turn }, signal);
  };
  /** A unit that is busy is asked again, in another turn: others on the line have theirs meanwhile. */
  const patiently = async <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    let busy: unknown;
    for (let waitMs = FIRST_BUSY_MS; ; waitMs *= 2) {
      try {
        return await work();
      } catch (error) {
        busy = isBusy(error) || hasCode(error, 'hardware/outcome-unknown') || !signal.aborted ? error : (busy ?? error);
        if (busy !== error || !isBusy(error) || waitMs > MAX_BUSY_MS) throw busy;
        await clock.sleep(waitMs, signal);
        if (signal.aborted) throw busy;
      }
    }
  };
  const ask = <T>(unitId: number, pdu: Uint8Array, parse: (answer: Uint8Array) => T, signal: AbortSignal): Promise<T> =>
    patiently(() => inTurn(unitId, () => exchange(unitId, pdu, parse, signal), signal), signal);
  /** A write that the unit has taken and is not done with counts as written: it is read back like any other. */
  const send = async (unitId: number, request: Uint8Array, signal: AbortSignal): Promise<void> =>
    await exchange(unitId, request, (answer) => checkWritten(answer, request), signal).catch((error: unknown) => {
      if (!hasCode(error, MODBUS_WORKING)) throw error;
    });
  const write = (unitId: number, request: Uint8Array, signal: AbortSignal): Promise<void> =>
    patiently(() => inTurn(unitId, () => send(unitId, request, signal), signal), signal);
  const rewriteBit = async (unitId: number, { address, bit, on }: RegisterBit, signal: AbortSignal): Promise<void> => {
    const range = { table: 'holding', address, count: 1 } as const;
    const request = readRequest(FUNCTION.readHolding, range);
    const parse = (answer: Uint8Array): readonly number[] => parseRegisters(answer, FUNCTION.readHolding, 1);
    const read = (): Promise<readonly number[]> => exchange(unitId, request, parse, signal);
    // While an older answer is outstanding, the first may be that one; it tells that nothing older follows.
    const mayBeOlder = rank === 'off' && transport.settling(unitId, request) !== undefined;
    const [before = 0] = await (mayBeOlder ? read().catch(read) : read());
    const after = on ? before | (1 << bit) : before & ~(1 << bit);
    // Also where nothing changes: some registers show late, or never, what was written to them.
    await send(unitId, writeRegistersRequest(address, [after], code), signal);
  };
  return {
    readRegisters: (unitId, range, signal) => {
      const table = range.table === 'holding' ? FUNCTION.readHolding : FUNCTION.readInput;
      return ask(unitId, readRequest(table, range), (answer) => parseRegisters(answer, table, range.count), signal);
    },
    readBits: (unitId, range, signal) => {
      const table = range.table === 'coil' ? FUNCTION.readCoils : FUNCTION.readDiscrete;
      return ask(unitId, readRequest(table, range), (answer) => parseBits(answer, table, range.count), signal);
    },
    writeRegisters: (unitId, address, words, signal) =>
      write(unitId, writeRegistersRequest(address, words, code), signal),
    writeCoil: (unitId, address, on, signal) => write(unitId, writeCoilRequest(address, on, code), signal),
    writeBit: (unitId, bit, signal) =>
      code === FUNCTION.maskWriteRegister
        ? write(unitId, maskWriteRequest(bit), signal)
        : patiently(() => inTurn(unitId, () => rewriteBit(unitId, bit, signal), signal), signal),
    identify: async (unitId, signal) => {
      const texts = await ask(unitId, IDENTIFICATION_REQUEST, parseIdentification, signal).catch((error: unknown) => {
        if (!hasCode(error, 'hardware/modbus-exception')) throw error;
      });
      if (texts === undefined) return { product: await ask(unitId, SERVER_ID_REQUEST, parseServerId, signal) };
      return { maker: texts.get(0), product: texts.get(1), revision: texts.get(2) };
    },
  };
}

/** A gateway that asks a mute unit several times answers nobody meanwhile: a unit beside it fails although it lives. */
function lateBehindGateway(error: AgentError, responseTimeoutMs: number): AgentError {
  return retryable(
    'hardware/deadline',
    `${error.message}; behind a gateway that waits for another unit it needs a responseTimeout (scan: --timeout) above ${responseTimeoutMs} ms`,
    error.cause,
  );
}

/** Codes of requests that nobody has answered, a gateway in place of its unit included. */
const SILENCES = new Set([
  'hardware/deadline',
  'hardware/modbus-no-answer',
  'hardware/outcome-unknown',
  'hardware/serial-unplugged',
  'hardware/serial-failed',
]);

function isSilence(error: unknown): boolean {
  return error instanceof AgentError && SILENCES.has(error.code);
}

function isBusy(error: unknown): boolean {
  return hasCode(error, MODBUS_BUSY) || hasCode(error, MODBUS_WORKING);
}

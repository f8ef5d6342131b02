/** Requests to units behind one connection, each in its turn among those of all who share it. */
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { checkWritten, FUNCTION, parseBits, parseRegisters, readRequest, writeCoilRequest, writeRegistersRequest } from './modbus-pdu.ts';
import type { ModbusConnection, ModbusRequests } from './modbus-port.ts';
import type { ModbusTransport } from './modbus-transports.ts';
import type { TurnQueue, TurnRank } from './turn-queue.ts';

/** State of a connection, common to all its users. */
export interface SharedLink {
  readonly transport: ModbusTransport;
  readonly queue: TurnQueue;
  /** Units that did not take "off" when they were told, and have answered nothing since. */
  readonly refusing: Set<number>;
  readonly connection: ModbusConnection;
  /** When the units hear again after the last answer. */
  freeAtMs: number;
}

export interface RequestsDeps {
  readonly shared: SharedLink;
  readonly responseTimeoutMs: number;
  readonly clock: Clock;
}

export function requestsOf({ shared, responseTimeoutMs, clock }: RequestsDeps, rank: TurnRank): ModbusRequests {
  const { queue, transport, refusing, connection } = shared;
  const { connectDelayMs = 0, betweenRequestsMs = 0 } = connection;
  const ready = async (signal: AbortSignal): Promise<void> => {
    await transport.connect(signal);
    const leftMs = shared.freeAtMs - clock.monotonicMs();
    if (leftMs > 0) await clock.sleep(leftMs, signal);
  };
  /** One request of a turn. */
  const exchange = async <T>(unitId: number, pdu: Uint8Array, parse: (answer: Uint8Array) => T, signal: AbortSignal): Promise<T> => {
    // The response time-out runs from the request's own turn; the caller's signal also covers the waiting.
    const inTime = async <R>(work: (limit: AbortSignal) => Promise<R>): Promise<R> => {
      await withinMs(clock, responseTimeoutMs + connectDelayMs + betweenRequestsMs, ready, signal);
      try {
        return await withinMs(clock, responseTimeoutMs, work, signal);
      } finally {
        shared.freeAtMs = clock.monotonicMs() + betweenRequestsMs;
      }
    };
    try {
      if (rank !== 'off') await inTime((limit) => transport.settle(unitId, pdu, limit));
      const answer = parse(await inTime((limit) => transport.exchange(unitId, pdu, limit)));
      refusing.delete(unitId);
      return answer;
    } catch (error) {
      if (rank === 'off') refusing.add(unitId);
      throw error;
    }
  };
  const inTurn = <T>(unitId: number, work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    const turn = rank !== 'reading' && refusing.has(unitId) ? 'again' : rank;
    return queue.run(work, { what: `Modbus unit ${unitId}`, rank: turn }, signal);
  };
  const ask = <T>(unitId: number, pdu: Uint8Array, parse: (answer: Uint8Array) => T, signal: AbortSignal): Promise<T> =>
    inTurn(unitId, () => exchange(unitId, pdu, parse, signal), signal);
  const write = (unitId: number, request: Uint8Array, signal: AbortSignal): Promise<void> =>
    ask(unitId, request, (answer) => checkWritten(answer, request), signal);
  return {
    readRegisters: (unitId, range, signal) => {
      const code = range.table === 'holding' ? FUNCTION.readHolding : FUNCTION.readInput;
      return ask(unitId, readRequest(code, range), (answer) => parseRegisters(answer, code, range.count), signal);
    },
    readBits: (unitId, range, signal) => {
      const code = range.table === 'coil' ? FUNCTION.readCoils : FUNCTION.readDiscrete;
      return ask(unitId, readRequest(code, range), (answer) => parseBits(answer, code, range.count), signal);
    },
    writeRegisters: (unitId, address, words, signal) => write(unitId, writeRegistersRequest(address, words), signal),
    writeCoil: (unitId, address, on, signal) => write(unitId, writeCoilRequest(address, on), signal),
  };
}

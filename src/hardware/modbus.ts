/** Modbus connections, each shared by every sensor and actuator on it, with one queue: RTU allows one question at a time on the whole line. */
import { AgentError } from '../errors/agent-error.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { getOrInsert } from '../host/get-or-insert.ts';
import { once } from '../host/shared-work.ts';
import {
  checkWritten,
  FUNCTION,
  parseBits,
  parseRegisters,
  readRequest,
  writeCoilRequest,
  writeRegistersRequest,
} from './modbus-frames.ts';
import type { ModbusConnection, ModbusLink, ModbusPort, ModbusRequests } from './modbus-port.ts';
import { RtuTransport, type UnitDebts } from './modbus-rtu.ts';
import { type ModbusTransport, type TcpPlace, TcpTransport } from './modbus-transports.ts';
import type { SerialPorts } from './serial-port.ts';
import { TurnQueue, type TurnRank } from './turn-queue.ts';

export interface ModbusDeps {
  readonly clock: Clock;
  readonly serial: SerialPorts;
  /** Where a host really is; a simulated board stands in for it. Default: where it says. */
  readonly placeOf?: (place: TcpPlace, signal: AbortSignal) => Promise<TcpPlace>;
}

interface Shared {
  readonly transport: ModbusTransport;
  readonly queue: TurnQueue;
  /** Units that did not take "off" when they were told, and have answered nothing since. */
  readonly refusing: Set<number>;
  readonly connection: ModbusConnection;
  users: number;
}

export class Modbus implements ModbusPort {
  readonly #deps: ModbusDeps;
  readonly #shared = new Map<string, Promise<Shared>>();
  /** By port: what fails is opened again, and outstanding answers still come. */
  readonly #debts = new Map<string, UnitDebts>();

  constructor(deps: ModbusDeps) {
    this.#deps = deps;
  }

  async open(connection: ModbusConnection, signal: AbortSignal): Promise<ModbusLink> {
    const key = connection.transport === 'tcp' ? `${connection.host}:${connection.port}` : connection.port;
    const opening = this.#shared.get(key) ?? this.#openShared(connection, signal);
    this.#shared.set(key, opening);
    const shared = await opening.catch((error: unknown) => {
      if (this.#shared.get(key) === opening) this.#shared.delete(key);
      throw error;
    });
    const settings = settingsOf(shared.connection);
    if (settings !== settingsOf(connection))
      throw new AgentError('hardware/modbus-settings', `${key} is already open with other settings (${settings})`, { recovery: 'hold' });
    shared.users += 1;
    const deps = { shared, responseTimeoutMs: connection.responseTimeoutMs, clock: this.#deps.clock };
    const release = once(() => this.#release(key, shared));
    return { ...requestsOf(deps, 'reading'), ranked: (rank) => requestsOf(deps, rank), close: release };
  }

  async close(): Promise<void> {
    const open = [...this.#shared.values()];
    this.#shared.clear();
    await Promise.all(open.map(async (opening) => (await opening.catch(() => undefined))?.transport.close()));
  }

  async #openShared(connection: ModbusConnection, signal: AbortSignal): Promise<Shared> {
    const transport =
      connection.transport === 'tcp'
        ? new TcpTransport(connection.host, async (inner) => (await this.#deps.placeOf?.(connection, inner)) ?? connection)
        : await this.#openLine(connection, signal);
    return { transport, queue: new TurnQueue(), refusing: new Set(), connection, users: 0 };
  }

  async #openLine(connection: Extract<ModbusConnection, { transport: 'rtu' }>, signal: AbortSignal): Promise<RtuTransport> {
    const { serial, clock } = this.#deps;
    const debts = getOrInsert(this.#debts, connection.port, (): UnitDebts => new Map());
    return new RtuTransport({ port: await serial.open(connection, signal), baudRate: connection.baudRate, clock, debts });
  }

  async #release(key: string, shared: Shared): Promise<void> {
    shared.users -= 1;
    if (shared.users > 0) return;
    this.#shared.delete(key);
    await shared.transport.close();
  }
}

interface RequestsDeps {
  readonly shared: Shared;
  readonly responseTimeoutMs: number;
  readonly clock: Clock;
}

/** Each in its turn among those of all who share the connection. */
function requestsOf({ shared, responseTimeoutMs, clock }: RequestsDeps, rank: TurnRank): ModbusRequests {
  const { queue, transport, refusing } = shared;
  const ask = async <T>(unitId: number, pdu: Uint8Array, parse: (answer: Uint8Array) => T, signal: AbortSignal): Promise<T> => {
    // The response time-out runs from the request's own turn; the caller's signal also covers the waiting.
    const inTime = <R>(work: (limit: AbortSignal) => Promise<R>): Promise<R> => withinMs(clock, responseTimeoutMs, work, signal);
    const work = async (): Promise<T> => {
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
    const turn = rank !== 'reading' && refusing.has(unitId) ? 'again' : rank;
    return await queue.run(work, { what: `Modbus unit ${unitId}`, rank: turn }, signal);
  };
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

function settingsOf(connection: ModbusConnection): string {
  if (connection.transport === 'tcp') return 'TCP';
  const { baudRate, dataBits = 8, parity = 'none', stopBits = 1 } = connection;
  return `${baudRate} baud, ${dataBits} data bits, parity ${parity}, ${stopBits} stop bits`;
}

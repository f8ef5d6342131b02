/** Modbus connections, each shared by every sensor and actuator on it, with one queue: RTU allows one question at a time on the whole line. */
import { AgentError } from '../errors.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import {
  checkWritten,
  FUNCTION,
  parseBits,
  parseRegisters,
  readRequest,
  writeCoilRequest,
  writeRegistersRequest,
} from './modbus-frames.ts';
import type { ModbusConnection, ModbusLink, ModbusPort, ModbusRequests, RegisterRange } from './modbus-port.ts';
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
  /** By port: what fails is opened anew, and what its units owe still comes. */
  readonly #debts = new Map<string, UnitDebts>();

  constructor(deps: ModbusDeps) {
    this.#deps = deps;
  }

  async open(connection: ModbusConnection, signal: AbortSignal): Promise<ModbusLink> {
    const key = connection.transport === 'tcp' ? `${connection.host}:${connection.port}` : connection.port;
    const opening = this.#shared.get(key) ?? this.#openShared(connection, signal);
    this.#shared.set(key, opening);
    let shared: Shared;
    try {
      shared = await opening;
    } catch (error) {
      if (this.#shared.get(key) === opening) this.#shared.delete(key);
      throw error;
    }
    if (settingsOf(shared.connection) !== settingsOf(connection)) {
      throw new AgentError('hardware/modbus-settings', `${key} is already open with other settings (${settingsOf(shared.connection)})`, {
        recovery: 'hold',
      });
    }
    shared.users += 1;
    return new SharedLink({ shared, responseTimeoutMs: connection.responseTimeoutMs, clock: this.#deps.clock }, () =>
      this.#release(key, shared),
    );
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
    const debts: UnitDebts = this.#debts.get(connection.port) ?? new Map();
    this.#debts.set(connection.port, debts);
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

class SharedRequests implements ModbusRequests {
  readonly #deps: RequestsDeps;
  readonly #rank: TurnRank;

  constructor(deps: RequestsDeps, rank: TurnRank) {
    this.#deps = deps;
    this.#rank = rank;
  }

  async readRegisters(unitId: number, range: RegisterRange<'holding' | 'input'>, signal: AbortSignal): Promise<readonly number[]> {
    const code = range.table === 'holding' ? FUNCTION.readHolding : FUNCTION.readInput;
    return await this.#ask(unitId, readRequest(code, range), (answer) => parseRegisters(answer, code, range.count), signal);
  }

  async readBits(unitId: number, range: RegisterRange<'coil' | 'discrete'>, signal: AbortSignal): Promise<readonly boolean[]> {
    const code = range.table === 'coil' ? FUNCTION.readCoils : FUNCTION.readDiscrete;
    return await this.#ask(unitId, readRequest(code, range), (answer) => parseBits(answer, code, range.count), signal);
  }

  async writeRegisters(unitId: number, address: number, words: readonly number[], signal: AbortSignal): Promise<void> {
    const request = writeRegistersRequest(address, words);
    await this.#ask(unitId, request, (answer) => checkWritten(answer, request), signal);
  }

  async writeCoil(unitId: number, address: number, on: boolean, signal: AbortSignal): Promise<void> {
    const request = writeCoilRequest(address, on);
    await this.#ask(unitId, request, (answer) => checkWritten(answer, request), signal);
  }

  async #ask<T>(unitId: number, pdu: Uint8Array, parse: (answer: Uint8Array) => T, signal: AbortSignal): Promise<T> {
    const { queue, transport, refusing } = this.#deps.shared;
    const work = async (): Promise<T> => {
      try {
        if (this.#rank !== 'off') await this.#withinResponseTime((limit) => transport.settle(unitId, pdu, limit), signal);
        const answer = parse(await this.#withinResponseTime((limit) => transport.exchange(unitId, pdu, limit), signal));
        refusing.delete(unitId);
        return answer;
      } catch (error) {
        if (this.#rank === 'off') refusing.add(unitId);
        throw error;
      }
    };
    const rank = this.#rank !== 'reading' && refusing.has(unitId) ? 'again' : this.#rank;
    return await queue.run(work, { what: `Modbus unit ${unitId}`, rank }, signal);
  }

  /** The response time-out runs from the request's own turn; the caller's signal also covers the waiting. */
  async #withinResponseTime<T>(work: (limit: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock, responseTimeoutMs } = this.#deps;
    return await withinMs(clock, responseTimeoutMs, work, signal);
  }
}

class SharedLink extends SharedRequests implements ModbusLink {
  readonly ranked: (rank: TurnRank) => ModbusRequests;
  readonly #release: () => Promise<void>;
  #closed = false;

  constructor(deps: RequestsDeps, release: () => Promise<void>) {
    super(deps, 'reading');
    this.ranked = (rank) => new SharedRequests(deps, rank);
    this.#release = release;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#release();
  }
}

function settingsOf(connection: ModbusConnection): string {
  if (connection.transport === 'tcp') return 'TCP';
  const { baudRate, dataBits = 8, parity = 'none', stopBits = 1 } = connection;
  return `${baudRate} baud, ${dataBits} data bits, parity ${parity}, ${stopBits} stop bits`;
}

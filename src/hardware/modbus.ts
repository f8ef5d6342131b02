/** Modbus connections, each shared by every sensor and actuator on it, with one queue: RTU allows one question at a time on the whole line. */
import { AgentError } from '../errors.ts';
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
import type { ModbusConnection, ModbusLink, ModbusPort } from './modbus-port.ts';
import { type ModbusTransport, RtuTransport, TcpTransport } from './modbus-transports.ts';
import type { SerialPorts } from './serial-port.ts';
import { TurnQueue } from './turn-queue.ts';

export interface ModbusDeps {
  readonly clock: Clock;
  readonly serial: SerialPorts;
  /** Where a host really is; a simulated board stands in for it. Default: where it says. */
  readonly placeOf?: (host: string, port: number, signal: AbortSignal) => Promise<{ readonly host: string; readonly port: number }>;
}

interface Shared {
  readonly transport: ModbusTransport;
  readonly queue: TurnQueue;
  readonly connection: ModbusConnection;
  users: number;
}

export class Modbus implements ModbusPort {
  readonly #deps: ModbusDeps;
  readonly #shared = new Map<string, Promise<Shared>>();

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
    return new SharedLink(shared, connection.responseTimeoutMs, this.#deps.clock, () => this.#release(key, shared));
  }

  async close(): Promise<void> {
    const open = [...this.#shared.values()];
    this.#shared.clear();
    await Promise.all(open.map(async (opening) => (await opening.catch(() => undefined))?.transport.close()));
  }

  async #openShared(connection: ModbusConnection, signal: AbortSignal): Promise<Shared> {
    const { serial, clock } = this.#deps;
    const transport =
      connection.transport === 'tcp'
        ? new TcpTransport(connection.host, (inner) => this.#placeOf(connection.host, connection.port, inner))
        : new RtuTransport(await serial.open(connection, signal), connection.baudRate, clock);
    return { transport, queue: new TurnQueue(), connection, users: 0 };
  }

  async #placeOf(host: string, port: number, signal: AbortSignal): Promise<{ readonly host: string; readonly port: number }> {
    return (await this.#deps.placeOf?.(host, port, signal)) ?? { host, port };
  }

  async #release(key: string, shared: Shared): Promise<void> {
    shared.users -= 1;
    if (shared.users > 0) return;
    this.#shared.delete(key);
    await shared.transport.close();
  }
}

class SharedLink implements ModbusLink {
  readonly #shared: Shared;
  readonly #responseTimeoutMs: number;
  readonly #clock: Clock;
  readonly #release: () => Promise<void>;
  #closed = false;

  constructor(shared: Shared, responseTimeoutMs: number, clock: Clock, release: () => Promise<void>) {
    this.#shared = shared;
    this.#responseTimeoutMs = responseTimeoutMs;
    this.#clock = clock;
    this.#release = release;
  }

  async readRegisters(
    unitId: number,
    table: 'holding' | 'input',
    address: number,
    count: number,
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    const code = table === 'holding' ? FUNCTION.readHolding : FUNCTION.readInput;
    return parseRegisters(await this.#exchange(unitId, readRequest(code, address, count), signal), code, count);
  }

  async readBits(
    unitId: number,
    table: 'coil' | 'discrete',
    address: number,
    count: number,
    signal: AbortSignal,
  ): Promise<readonly boolean[]> {
    const code = table === 'coil' ? FUNCTION.readCoils : FUNCTION.readDiscrete;
    return parseBits(await this.#exchange(unitId, readRequest(code, address, count), signal), code, count);
  }

  async writeRegisters(unitId: number, address: number, words: readonly number[], signal: AbortSignal): Promise<void> {
    const request = writeRegistersRequest(address, words);
    checkWritten(await this.#exchange(unitId, request, signal), request);
  }

  async writeCoil(unitId: number, address: number, on: boolean, signal: AbortSignal): Promise<void> {
    const request = writeCoilRequest(address, on);
    checkWritten(await this.#exchange(unitId, request, signal), request);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#release();
  }

  /** The response time-out runs from the request's own turn; the caller's signal also covers the waiting. */
  async #exchange(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const { queue, transport } = this.#shared;
    return await queue.run(
      async () => {
        const limit = new AbortController();
        const cancel = this.#clock.after(this.#responseTimeoutMs, () => limit.abort());
        const abort = (): void => limit.abort(signal.reason);
        signal.addEventListener('abort', abort, { once: true });
        try {
          return await transport.exchange(unitId, pdu, limit.signal);
        } finally {
          cancel();
          signal.removeEventListener('abort', abort);
        }
      },
      `Modbus unit ${unitId}`,
      signal,
    );
  }
}

function settingsOf(connection: ModbusConnection): string {
  if (connection.transport === 'tcp') return 'TCP';
  const { baudRate, dataBits = 8, parity = 'none', stopBits = 1 } = connection;
  return `${baudRate} baud, ${dataBits} data bits, parity ${parity}, ${stopBits} stop bits`;
}

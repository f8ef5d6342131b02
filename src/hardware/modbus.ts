/** Modbus connections, each shared by every sensor and actuator on it, with one queue: RTU allows one question at a time on the whole line. */
import { isHost, modbusLine, modbusSettings } from '../config/fields/line-agreement.ts';
import { AgentError } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { once } from '../host/shared-work.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import { ASCII, RTU } from './modbus-frames.ts';
import { type LineMemory, LineTransport } from './modbus-line-transport.ts';
import { serialLine, TcpLine, type TcpPlace } from './modbus-lines.ts';
import type { ModbusConnection, ModbusLink, ModbusPort } from './modbus-port.ts';
import { requestsOf, type SharedLink } from './modbus-requests.ts';
import { type ModbusTransport, type OpenLine, TcpTransport } from './modbus-transports.ts';
import { Outages } from './outages.ts';
import type { SerialPorts } from './serial-port.ts';
import { TurnQueue } from './turn-queue.ts';

/** 3.5 characters of silence part two frames; from 19200 baud on it is this long whatever the speed (V1.02, section 2.5.1.1). */
const MIN_SILENCE_MS = 1.75;
const SILENT_CHARACTERS = 3.5;
const BITS_PER_CHARACTER = 11;
/**
 * A USB adapter hands bytes over every 16 ms, some radios and a busy gateway later: what stays half for longer, and for longer than the silence
 * that parts frames, is no frame any more.
 */
const RTU_GAP_MS = 250;
/** The longest pause within an ASCII frame (V1.02, section 2.5.2.1); over TCP a lost packet is sent again by then. */
const GAP_MS = 1_000;

interface Shared extends SharedLink {
  users: number;
}

export interface ModbusDeps {
  readonly clock: Clock;
  readonly serial: SerialPorts;
  /** Where a host really is; a simulated board stands in for it. Default: where it says. */
  readonly placeOf?: (place: TcpPlace, signal: AbortSignal) => Promise<TcpPlace>;
}

export class Modbus implements ModbusPort {
  readonly #deps: ModbusDeps;
  readonly #shared = new Map<string, Promise<Shared>>();
  /** By port: what fails is opened again, outstanding answers still come, and an adapter goes on to echo. */
  readonly #memories = new Map<string, LineMemory>();

  constructor(deps: ModbusDeps) {
    this.#deps = deps;
  }

  async open(connection: ModbusConnection, signal: AbortSignal): Promise<ModbusLink> {
    const key = modbusLine(connection);
    const opening = this.#shared.get(key) ?? this.#openShared(connection, signal);
    this.#shared.set(key, opening);
    const shared = await opening.catch((error: unknown) => {
      if (this.#shared.get(key) === opening) this.#shared.delete(key);
      throw error;
    });
    const settings = modbusSettings(shared.connection).join(', ');
    if (settings !== modbusSettings(connection).join(', '))
      throw new AgentError('hardware/modbus-settings', `${key} is already open with other settings (${settings})`, {
        recovery: 'hold',
      });
    shared.users += 1;
    const deps = { shared, responseTimeoutMs: connection.responseTimeoutMs, clock: this.#deps.clock };
    const release = once(() => this.#release(key, shared));
    return {
      ...requestsOf(deps, 'reading'),
      ranked: (rank, code) => requestsOf(deps, rank, code),
      onReturn: (unitId, listener) => shared.outages.onReturn(unitId, listener),
      close: release,
    };
  }

  async close(): Promise<void> {
    const open = [...this.#shared.values()];
    this.#shared.clear();
    await Promise.all(open.map(async (opening) => (await opening.catch(() => undefined))?.transport.close()));
  }

  async #openShared(connection: ModbusConnection, signal: AbortSignal): Promise<Shared> {
    const { clock } = this.#deps;
    const transport = transportOf(
      connection,
      await this.#openLine(connection, signal),
      clock,
      this.#memoryOf(connection),
    );
    const freeAtMs = clock.monotonicMs() + (connection.connectDelayMs ?? 0);
    return {
      transport,
      queue: new TurnQueue(),
      refusing: new Set(),
      outages: new Outages(clock),
      connection,
      freeAtMs,
      users: 0,
    };
  }

  async #openLine(connection: ModbusConnection, signal: AbortSignal): Promise<OpenLine> {
    const { serial, placeOf } = this.#deps;
    if (isHost(connection)) {
      const place = async (inner: AbortSignal): Promise<TcpPlace> => (await placeOf?.(connection, inner)) ?? connection;
      return (listener) => new TcpLine({ label: connection.host, place }, listener);
    }
    const port = await serial.open(connection, signal);
    return (listener) => serialLine(port, listener);
  }

  #memoryOf(connection: ModbusConnection): LineMemory {
    return getOrInsert(this.#memories, modbusLine(connection), (): LineMemory => ({ debts: new Map(), echoes: false }));
  }

  async #release(key: string, shared: Shared): Promise<void> {
    shared.users -= 1;
    if (shared.users > 0) return;
    this.#shared.delete(key);
    await shared.transport.close();
  }
}

function transportOf(
  connection: ModbusConnection,
  openLine: OpenLine,
  clock: Clock,
  memory: LineMemory,
): ModbusTransport {
  const { transport, lenient = false, echo = false } = connection;
  if (transport === 'tcp') return new TcpTransport({ openLine, lenient });
  const framing = transport === 'rtu' || transport === 'rtu-over-tcp' ? RTU : ASCII;
  const silenceMs = 'baudRate' in connection && framing === RTU ? silenceOf(connection.baudRate) : 0;
  const gapMs = transport === 'rtu' ? Math.max(RTU_GAP_MS, silenceMs) : GAP_MS;
  return new LineTransport({ openLine, framing, clock, memory, silenceMs, gapMs, echo, lenient });
}

function silenceOf(baudRate: number): number {
  return Math.max(MIN_SILENCE_MS, (SILENT_CHARACTERS * BITS_PER_CHARACTER * 1000) / baudRate);
}

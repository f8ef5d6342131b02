/** A whole board: its parts, their common time and record, and the bench that a test or a person works on it with. */
import type { BoardFault, BoardMove } from '../../hardware/board-protocol.ts';
import type { Level } from '../../hardware/gpio-port.ts';
import type { Clock } from '../../host/clock.ts';
import type { BoardConfig } from './board-config.ts';
import type { BoardRecord } from './board-record.ts';
import { SimulatedGpio } from './simulated-gpio.ts';
import { SimulatedHttp } from './simulated-http.ts';
import { SimulatedI2c } from './simulated-i2c.ts';
import { SimulatedKernel } from './simulated-kernel.ts';
import { SimulatedOneWire } from './simulated-one-wire.ts';
import { type BoardContext, BoardFaults, BoardSignals, FOREVER } from './simulated-part.ts';
import { SimulatedPwm } from './simulated-pwm.ts';
import { SimulatedSerial } from './simulated-serial.ts';
import { ModbusTcpServer } from './talkers/modbus-talker.ts';
import type { Twins } from './twin.ts';

export interface SimulatedBoardDeps {
  readonly clock: Clock;
  readonly record: BoardRecord;
  /** Twins of each kind of sensor. */
  readonly twins: Twins;
}

export class SimulatedBoard {
  readonly clock: Clock;
  readonly gpio: SimulatedGpio;
  readonly i2c: SimulatedI2c;
  readonly serial: SimulatedSerial;
  readonly oneWire: SimulatedOneWire;
  readonly pwm: SimulatedPwm;
  readonly http: SimulatedHttp;
  readonly kernel: SimulatedKernel;
  readonly bench: ReturnType<typeof benchOf>;
  readonly #record: BoardRecord;
  readonly #modbusTcp: ReadonlyMap<string, { readonly server: ModbusTcpServer; readonly listenOn: number }>;

  constructor(config: BoardConfig, deps: SimulatedBoardDeps) {
    const { clock, record } = deps;
    const context: BoardContext = {
      clock,
      record,
      faults: new BoardFaults(),
      signals: new BoardSignals(clock, config.seed),
    };
    record.add('started', 'board', 'board', clock.bootId);
    this.clock = clock;
    this.#record = record;
    this.gpio = new SimulatedGpio(config.gpio, context);
    this.i2c = new SimulatedI2c(config.i2c, context, deps.twins);
    this.serial = new SimulatedSerial(config.serial, context);
    this.oneWire = new SimulatedOneWire(config.oneWire, context);
    this.pwm = new SimulatedPwm(config.pwm, context);
    this.http = new SimulatedHttp(config.http, context);
    this.kernel = new SimulatedKernel(config.kernel, context);
    this.#modbusTcp = new Map(
      config.modbusTcp.map(({ host, port, framing, listenOn, units }) => {
        const source = `${host}:${port}`;
        return [source, { server: new ModbusTcpServer({ units, framing, source }, context), listenOn }];
      }),
    );
    this.bench = benchOf(this, context);
  }

  /** The local port behind which the units of a Modbus/TCP host are, or null when the board does not stand in for it. */
  async modbusTcp(host: string, port: number): Promise<{ readonly port: number } | null> {
    const found = this.#modbusTcp.get(`${host}:${port}`);
    return found === undefined ? null : { port: await found.server.listen(found.listenOn) };
  }

  /** Call once; the record is closed with it. */
  close(): void {
    this.gpio.close();
    this.serial.close();
    for (const { server } of this.#modbusTcp.values()) server.close();
    this.#record.close();
  }
}

/** Operations on the board that no hardware has. */
function benchOf(board: SimulatedBoard, { record, faults, signals }: BoardContext) {
  const idOf = (target: string): string =>
    /^(i2c-|pwmchip|\/|[0-9a-f]{2}-)/.test(target) ? target : board.gpio.idOf(target);
  return {
    moves: (line: string, sinceMs?: number): readonly BoardMove[] =>
      record
        .movesOf(idOf(line), sinceMs)
        .map(({ atMs, wallMs, value }) => ({ monotonicMs: atMs, wallMs, level: value as Level })),
    counts: () => record.counts(),
    hold: (target: string, value: number | null): void => signals.hold(idOf(target), value),
    fault: (target: string, fault: BoardFault | null): void => {
      record.add('fault', target, fault ?? 'mended', target);
      faults.set(target, fault ?? undefined);
    },
    faults: () => faults.all(),
    /** Does the work, or waits for ever while the target hangs. */
    unlessHung: async <T>(target: string, work: () => T): Promise<T> =>
      faults.of(target) === 'hang' ? await FOREVER : work(),
  };
}

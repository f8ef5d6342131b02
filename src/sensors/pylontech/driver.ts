/** A module, or a stack through its master, that is asked for its analog values in its turn on the line. Silence, damage and refusals are told apart in words. */
import type { AgentError } from '../../errors/agent-error.ts';
import { withinDeadline } from '../../hardware/deadline.ts';
import type { SerialBus } from '../../hardware/serial-buses.ts';
import { withinMs } from '../../host/bounded-wait.ts';
import type { Clock } from '../../host/clock.ts';
import { sorted } from '../kind/outcome.ts';
import type { Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { PylontechConfig } from './definition.ts';
import { BATTERY, type Damage, type Frame, FrameCutter, requestOf } from './frames.ts';
import { outcomesOf } from './values.ts';

const ANALOG_VALUES = 0x42;
/** Stands for all modules of a stack. */
const ALL = 0xff;
const TRIES = 2;

/** Return codes, as the protocol has them. */
const REFUSALS: Readonly<Record<number, string>> = {
  1: 'it speaks another version of the protocol',
  2: 'the check sum of the request was wrong (noise on the line?)',
  3: 'the check sum of the length was wrong (noise on the line?)',
  4: 'it does not know the command',
  5: 'it does not take the form of the command',
  6: 'it has no such module or value',
  144: 'the address is not its own',
  145: 'its master does not reach the module (link cable?)',
};

export async function open(
  config: PylontechConfig,
  { ports, clock }: SensorDeps,
  signal: AbortSignal,
): Promise<Sensor> {
  const battery = new Battery(config, await ports.serialBuses.open(config, signal), clock);
  let refused: readonly Refusal[] = [];
  return {
    name: config.name,
    read: async (inner) => {
      refused = [];
      const found = sorted(outcomesOf(await battery.readInTurn(inner), config.stack));
      refused = found.refused;
      return found.readings;
    },
    refused: () => refused,
    close: () => battery.close(),
  };
}

class Battery {
  readonly #config: PylontechConfig;
  readonly #bus: SerialBus;
  readonly #clock: Clock;
  readonly #address: number;
  readonly #request: Buffer;
  readonly #stopListening: () => void;
  readonly #cutter = new FrameCutter((frame, letters) => this.#hear(frame, letters));
  #onFrame: ((frame: Frame) => void) | undefined;
  #damage: string | undefined;

  constructor(config: PylontechConfig, bus: SerialBus, clock: Clock) {
    const { address, group, stack } = config;
    this.#config = config;
    this.#bus = bus;
    this.#clock = clock;
    this.#address = (group << 4) | address;
    this.#request = requestOf({
      address: this.#address,
      command: ANALOG_VALUES,
      information: [stack ? ALL : this.#address],
    });
    this.#stopListening = bus.onBytes((bytes) => this.#cutter.cutBytes(bytes));
  }

  /** @throws AgentError (retry): `sensors/silent`, `sensors/bad-reading`, `sensors/wrong-meter`, `sensors/refused`. */
  async readInTurn(signal: AbortSignal): Promise<Buffer> {
    const frame = await this.#bus.run(
      () => this.#askTwice(signal),
      { what: `reading ${this.#name}`, hears: true },
      signal,
    );
    const { address, device, code, information } = frame;
    if (device !== BATTERY)
      throw sensorFault(
        'bad-reading',
        `${this.#name} answers as another device (${hex(device)}) than a battery of this protocol`,
      );
    if (address !== this.#address)
      throw sensorFault('wrong-meter', `${this.#name} is silent, and the one at ${address & 0xf} answers`);
    if (code !== 0)
      throw sensorFault('refused', `${this.#name} refuses: ${REFUSALS[code] ?? `its code ${hex(code)} is not known`}`);
    return information;
  }

  close(): Promise<void> {
    this.#stopListening();
    return this.#bus.close();
  }

  async #askTwice(signal: AbortSignal): Promise<Frame> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#ask(signal);
      } catch (cause) {
        if (tries < TRIES && !signal.aborted && this.#bus.port.plugged) continue;
        throw this.#silence(cause);
      }
    }
  }

  async #ask(signal: AbortSignal): Promise<Frame> {
    const { promise, resolve } = Promise.withResolvers<Frame>();
    this.#cutter.reset();
    this.#damage = undefined;
    this.#onFrame = resolve;
    const work = async (inner: AbortSignal): Promise<Frame> => {
      await this.#bus.port.write(this.#request, inner);
      return await withinDeadline(promise, `waiting for ${this.#name}`, inner);
    };
    try {
      return await withinMs(this.#clock, this.#config.responseTimeoutMs, work, signal);
    } finally {
      this.#onFrame = undefined;
    }
  }

  #hear(frame: Frame | Damage, letters: string): void {
    // Some converters hear themselves.
    if (this.#request.toString('latin1') === `~${letters}\r`) return;
    if ('damage' in frame) this.#damage = frame.damage;
    else this.#onFrame?.(frame);
  }

  get #name(): string {
    return `the battery ${this.#config.address} on ${this.#bus.port.path}`;
  }

  /** Reason why no answer came, in words. */
  #silence(cause: unknown): AgentError {
    const { path, plugged } = this.#bus.port;
    if (plugged && this.#damage !== undefined) return sensorFault('bad-reading', `${this.#name} gave ${this.#damage}`);
    const words = !plugged
      ? `${path} is unplugged`
      : this.#cutter.noise > 0
        ? `bytes come on ${path}, and no frame of a battery (baudRate? the console in place of RS485?)`
        : `${this.#name} does not answer`;
    return sensorFault('silent', words, cause);
  }
}

function hex(code: number): string {
  return `0x${code.toString(16).toUpperCase().padStart(2, '0')}`;
}

/**
 * A meter that is asked, in its turn on the line:
 *
 *   zeros, pause, /?!  ─►  identification  ─►  A: readout at the same speed
 *                                              B: readout at the speed that the meter goes to by itself
 *                                              C: acknowledgement ─► readout, or registers, at the speed that it names
 */
import { AgentError } from '../../errors/agent-error.ts';
import type { SerialBus } from '../../hardware/serial-buses.ts';
import type { Clock } from '../../host/clock.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { Conversation } from './conversation.ts';
import type { Iec62056Config } from './definition.ts';
import type { Readout, ReadoutSource } from './driver.ts';
import {
  ACK,
  acknowledgement,
  answerIn,
  type Block,
  type Found,
  farewell,
  type Identification,
  identificationIn,
  NAK,
  readoutIn,
  registerRequest,
  request,
} from './frames.ts';
import { numbersIn, setsIn } from './values.ts';

/** Most blocks of a readout. */
const MAX_BLOCKS = 64;
/** How often a register is asked for again that came damaged. */
const TRIES = 2;
const SLOWEST = 300;

export async function openAsker(
  config: Iec62056Config,
  { ports, clock }: SensorDeps,
  signal: AbortSignal,
): Promise<ReadoutSource> {
  return new Asker(config, await ports.serialBuses.open(config, signal), clock);
}

class Asker implements ReadoutSource {
  readonly #config: Iec62056Config;
  readonly #bus: SerialBus;
  readonly #clock: Clock;
  readonly #conversation: Conversation;
  readonly #stopListening: () => void;
  /** Speed of the line. */
  #baudRate: number;

  constructor(config: Iec62056Config, bus: SerialBus, clock: Clock) {
    this.#config = config;
    this.#bus = bus;
    this.#clock = clock;
    this.#baudRate = config.baudRate;
    this.#conversation = new Conversation({ port: bus.port, clock, gapMs: config.responseTimeoutMs });
    this.#stopListening = bus.port.onBytes((bytes) => this.#conversation.hear(bytes));
  }

  async read(signal: AbortSignal): Promise<Readout> {
    const { port, turns } = this.#bus;
    return await turns
      .run(
        async () => {
          try {
            return await this.#readInTurn(signal);
          } finally {
            // The next request, of whichever meter, begins at the usual speed.
            await this.#goTo(this.#config.baudRate, new AbortController().signal).catch(() => {});
          }
        },
        { what: `reading the meter on ${port.path}` },
        signal,
      )
      .catch((cause: unknown) => {
        throw signal.aborted && this.#conversation.rest.length > 0 ? this.#late(cause) : cause;
      });
  }

  async close(): Promise<void> {
    this.#stopListening();
    await this.#bus.close();
  }

  async #readInTurn(signal: AbortSignal): Promise<Readout> {
    const { readRegisters: registers } = this.#config;
    const identification = await this.#identify(signal);
    const text =
      registers === undefined
        ? await this.#readout(identification, signal)
        : await this.#registers(identification, registers, signal);
    this.#checkNumber(text, identification);
    return { identification, text };
  }

  async #identify(signal: AbortSignal): Promise<Identification> {
    const { address, baudRate, mode, wakeUpZeros = 0, wakeUpPauseMs } = this.#config;
    const { port } = this.#bus;
    if (!port.plugged) throw sensorFault('silent', `${port.path} ${port.outage ?? 'is unplugged'}`);
    await this.#goTo(baudRate, signal);
    if (wakeUpZeros > 0) {
      await this.#conversation.send(new Uint8Array(wakeUpZeros), baudRate, signal);
      await this.#clock.sleep(wakeUpPauseMs, signal);
    }
    this.#conversation.reset();
    await port.write(request(address), signal);
    const found = await this.#wait(identifiedOrRefused, 'waiting for the identification', undefined, signal);
    if (found === NAK)
      throw sensorFault(
        'refused',
        `the meter on ${port.path} refuses the request (NAK): see that its address is right, and whether it has one`,
      );
    return mode === 'auto' || mode === 'D' ? found : this.#forced(found, mode);
  }

  /** Returns the identification with the mode of the configuration. */
  #forced(found: Identification, wanted: 'A' | 'B' | 'C'): Identification {
    const { maker, text, mode } = found;
    if (wanted === 'A') return { maker, text, mode: 'A', baudRate: this.#config.baudRate };
    if (mode === wanted) return found;
    throw sensorFault(
      'unsupported-mode',
      `the meter ${text} is one of mode ${mode}, and not of mode ${wanted}: leave mode: auto`,
    );
  }

  async #readout(identification: Identification, signal: AbortSignal): Promise<string> {
    const { mode, baudRate, text } = identification;
    const { port } = this.#bus;
    if (mode === 'B') {
      if (port.change === undefined && baudRate !== this.#baudRate)
        throw sensorFault(
          'unsupported-mode',
          `the meter ${text} goes to ${baudRate} baud by itself (mode B), and the speed of ${port.path} cannot be changed from here: use a port of this machine, or rfc2217:// where the device server knows it`,
        );
      await this.#goTo(baudRate, signal);
    }
    if (mode === 'C') await this.#acknowledge(baudRate, 'readout', signal);
    const blocks: string[] = [];
    for (let hasMore = true; hasMore && blocks.length < MAX_BLOCKS; ) {
      const block = await this.#wait(readoutOrRefused, 'waiting for the readout', identification, signal);
      if (block === NAK) throw this.#refusal(identification);
      if (!block.isGood) throw this.#damaged(identification);
      blocks.push(block.text);
      hasMore = block.hasMore;
      if (hasMore) await port.write(Uint8Array.of(ACK), signal);
    }
    return blocks.join('');
  }

  async #registers(identification: Identification, registers: readonly string[], signal: AbortSignal): Promise<string> {
    const { mode, baudRate, text } = identification;
    if (mode !== 'C')
      throw sensorFault(
        'unsupported-mode',
        `the meter ${text} is one of mode ${mode}, which gives no single registers: leave out readRegisters, and take values of its readout under codes`,
      );
    await this.#acknowledge(baudRate, 'registers', signal);
    const opened = await this.#wait(answerIn, 'waiting for the programming mode', identification, signal);
    if (opened === NAK || !opened.text.startsWith('P0')) throw this.#refusal(identification);
    const found: string[] = [];
    for (const code of registers) found.push(await this.#register(code, identification, signal));
    // A change of speed drops what an adapter has not sent.
    await this.#conversation.send(farewell(), this.#baudRate, signal);
    return found.join('\r\n');
  }

  async #register(code: string, identification: Identification, signal: AbortSignal): Promise<string> {
    for (let tries = 1; ; tries += 1) {
      await this.#bus.port.write(registerRequest(code), signal);
      const block = await this.#wait(answerIn, `waiting for ${code}`, identification, signal);
      const isGood = block !== NAK && block.isGood;
      if (!isGood && tries < TRIES) continue;
      if (block === NAK) throw this.#refusal(identification);
      if (!block.isGood) throw this.#damaged(identification);
      // Some meters leave the code out; errors come in the same brackets.
      return block.text.startsWith('(') ? code + block.text : block.text;
    }
  }

  /** Acknowledges with the highest speed that both sides can do; the meter answers at that speed. */
  async #acknowledge(offered: number, purpose: 'readout' | 'registers', signal: AbortSignal): Promise<void> {
    const { maxBaudRate } = this.#config;
    const common = this.#bus.port.change === undefined ? SLOWEST : Math.min(offered, maxBaudRate);
    await this.#conversation.send(acknowledgement(common, purpose), this.#baudRate, signal);
    if (this.#bus.port.change !== undefined) await this.#goTo(common, signal);
  }

  async #goTo(baudRate: number, signal: AbortSignal): Promise<void> {
    const { dataBits, parity, stopBits } = this.#config;
    await this.#bus.port.change?.({ baudRate, dataBits, parity, stopBits }, signal);
    this.#baudRate = baudRate;
  }

  /** @param identification of the meter, once it is known. */
  async #wait<T>(
    find: (bytes: Buffer) => Found<T> | undefined,
    what: string,
    identification: Identification | undefined,
    signal: AbortSignal,
  ): Promise<T> {
    try {
      return await this.#conversation.next(find, what, signal);
    } catch (cause) {
      if (!(cause instanceof AgentError)) throw cause;
      throw identification === undefined ? this.#silence(cause) : this.#broken(identification, cause);
    }
  }

  /** @throws AgentError `sensors/wrong-meter` (retry) where the meter gives a number, and not the one that was asked for. */
  #checkNumber(text: string, identification: Identification): void {
    const { address } = this.#config;
    const numbers = numbersIn(setsIn(text));
    if (address === undefined || numbers.length === 0) return;
    const wanted = address.trim().replace(/^0+/, '');
    if (!numbers.some((number) => number.endsWith(wanted)))
      throw sensorFault(
        'wrong-meter',
        `the meter ${identification.text} with the number ${numbers[0]} on ${this.#bus.port.path} answers in place of ${address}: correct address, or leave it out where there is one meter`,
      );
  }

  /** Returns why no identification came. */
  #silence(cause: AgentError): AgentError {
    const { port } = this.#bus;
    const { address } = this.#config;
    const { rest } = this.#conversation;
    const echo = Buffer.from(request(address));
    if (!port.plugged) return sensorFault('silent', `${port.path} ${port.outage ?? 'is unplugged'}`, cause);
    if (rest.length === 0)
      return sensorFault(
        'silent',
        `the meter on ${port.path} does not answer${address === undefined ? '' : ` to ${address}`}`,
        cause,
      );
    if (rest.equals(echo))
      return sensorFault(
        'silent',
        `the head on ${port.path} echoes the request, and the meter does not answer: see that the head sits straight, the right way up`,
        cause,
      );
    return sensorFault(
      'silent',
      `${rest.length} bytes came on ${port.path}, and no identification of a meter (baud rate? parity? other light?)`,
      cause,
    );
  }

  /** Returns why a meter that identified itself gave no whole answer. */
  #broken({ text, mode }: Identification, cause: AgentError): AgentError {
    const { port } = this.#bus;
    if (!port.plugged) return sensorFault('silent', `${port.path} ${port.outage ?? 'is unplugged'}`, cause);
    const { length } = this.#conversation.rest;
    const speed = `${this.#baudRate} baud, mode ${mode}`;
    return sensorFault(
      'silent',
      length === 0
        ? `the meter ${text} on ${port.path} identified itself and sent no more (${speed}): a lower maxBaudRate may help, or another mode`
        : `the meter ${text} on ${port.path} stopped after ${length} bytes (${speed}): see that the head sits straight; a lower maxBaudRate may help`,
      cause,
    );
  }

  /** Words for a readout that was still coming when its deadline was over. */
  #late(cause: unknown): AgentError {
    const { length } = this.#conversation.rest;
    return sensorFault(
      'late',
      `the deadline was over after ${length} bytes of the readout on ${this.#bus.port.path} (${this.#baudRate} baud): a longer period and deadline give it time`,
      cause,
    );
  }

  #refusal({ text }: Identification): AgentError {
    return sensorFault(
      'refused',
      `the meter ${text} on ${this.#bus.port.path} refuses to be read (NAK): ${this.#config.readRegisters === undefined ? 'a lower maxBaudRate may help' : 'it may want a password, which is never sent; leave out readRegisters, and read its readout'}`,
    );
  }

  #damaged({ text }: Identification): AgentError {
    return sensorFault(
      'bad-reading',
      `the check sum of the meter ${text} on ${this.#bus.port.path} is wrong (BCC): the head sits askew or gets other light, or the speed of ${this.#baudRate} baud is too high for it`,
    );
  }
}

function identifiedOrRefused(bytes: Buffer): Found<Identification | typeof NAK> | undefined {
  return identificationIn(bytes) ?? refusalIn(bytes);
}

function readoutOrRefused(bytes: Buffer): Found<Block | typeof NAK> | undefined {
  return bytes[0] === NAK ? refusalIn(bytes) : readoutIn(bytes);
}

function refusalIn(bytes: Buffer): Found<typeof NAK> | undefined {
  const at = bytes.indexOf(NAK);
  return at === -1 ? undefined : { value: NAK, used: at + 1, length: 1 };
}

/** Something that is told in words over a serial line: a template with the value in it, and the answer that means it was heard. */
import { type AgentError, retryable } from '../../errors/agent-error.ts';
import { isNetworkPort } from '../../hardware/network-serial.ts';
import { onNetworkReturn } from '../../hardware/outages.ts';
import { outcomeWithin } from '../../host/bounded-wait.ts';
import { type LinearPattern, loadLinearPatterns } from '../../values/linear-pattern.ts';
import { isActive } from '../kind/actuator.ts';
import type { DriverDeps, OpenDriver } from '../kind/definition.ts';
import { commandOf } from './command.ts';
import type { SerialWriteConfig } from './definition.ts';

/** An answer that matches nothing within this is noise. */
const MAX_ANSWER_CHARACTERS = 4096;

/** @throws as SerialBuses.open. */
export function opener(config: SerialWriteConfig, { ports, clock }: DriverDeps): OpenDriver {
  const { port: path, baudRate, dataBits, parity, stopBits, rs485, replyTimeoutMs } = config;
  const noAnswer = (why: string): AgentError => retryable('actuators/no-answer', `${path}: ${why}`);
  return async (signal) => {
    const expected = config.expect === undefined ? undefined : (await loadLinearPatterns())(config.expect);
    const bus = await ports.serialBuses.open({ port: path, baudRate, dataBits, parity, stopBits, rs485 }, signal);
    // Also those of other outputs here, and of a port that is opened anew.
    const owed = bus.owed(config.expect ?? '');
    const answered = async (line: Buffer, answer: LinearPattern, writeSignal: AbortSignal): Promise<void> => {
      const heard = Promise.withResolvers<void>();
      const late = (): never => {
        if (writeSignal.aborted) throw noAnswer('nobody waits for the answer any more');
        throw noAnswer(`no answer that matches ${config.expect} within ${replyTimeoutMs} ms`);
      };
      let text = '';
      // Listening begins before speaking: a quick device answers while the last byte is still reported as sent.
      const stopListening = bus.onBytes((bytes) => {
        text = (text + Buffer.from(bytes).toString('latin1')).slice(-MAX_ANSWER_CHARACTERS);
        // The end of somebody else's answer may stand before it.
        if ([text, ...text.split(/[\r\n]+/)].some((part) => answer.test(part))) heard.resolve();
      });
      const hearing = outcomeWithin(clock, replyTimeoutMs, () => heard.promise, late, writeSignal);
      hearing.catch(() => {}); // a write that fails first leaves it unheard
      try {
        await bus.port.write(line, writeSignal);
        await hearing;
      } finally {
        stopListening();
        heard.resolve();
      }
    };
    const proven = async (
      line: Buffer,
      { answer, isOn }: { readonly answer: LinearPattern; readonly isOn: boolean },
      writeSignal: AbortSignal,
    ): Promise<void> => {
      // Off that was refused for long has many answers owed; taking one of them for that of a later "on" leaves nothing on.
      const told = { command: line.toString('hex'), endsAll: !isOn };
      const { isProof } = await owed.heard(told, () => answered(line, answer, writeSignal));
      if (!isProof) throw noAnswer('the answer may be that of an earlier command');
    };
    let stopWatching = (): void => {};
    return {
      write: async (value, writeSignal) => {
        const line = commandOf(config, value);
        const turn = {
          what: `writing to ${path}`,
          // A port full of readings that nobody answers does not keep an output on.
          rank: isActive(value) ? ('movement' as const) : ('off' as const),
          hears: expected !== undefined,
        };
        const tell = async (): Promise<void> => {
          if (expected === undefined) await bus.port.write(line, writeSignal);
          else await proven(line, { answer: expected, isOn: isActive(value) }, writeSignal);
        };
        await bus.run(tell, turn, writeSignal);
      },
      // A board behind the network has a supply of its own.
      onUnplug: (listener) => {
        if (!isNetworkPort(path))
          stopWatching = bus.port.onPlug((plugged) => {
            if (!plugged) listener(`${path} was unplugged`);
          });
      },
      onReturn: (listener) => {
        if (isNetworkPort(path)) stopWatching = onNetworkReturn(bus.port, clock, listener);
      },
      close: () => {
        stopWatching();
        return bus.close();
      },
    };
  };
}

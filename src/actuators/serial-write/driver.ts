/**
 * Something that is told in words over a serial line: a template with the value in it, and the answer that means it was heard. An answer does
 * not say to what: while an earlier command owes its own, it is not taken for that of the present one.
 */
import { bytesOfText } from '../../config/fields/request-text.ts';
import { type AgentError, hasCode, retryable } from '../../errors/agent-error.ts';
import { outcomeWithin } from '../../host/bounded-wait.ts';
import { wordOf } from '../../values/argument-template.ts';
import { type LinearPattern, loadLinearPatterns } from '../../values/linear-pattern.ts';
import { type ActuatorValue, isActive } from '../kind/actuator.ts';
import type { DriverDeps, OpenDriver } from '../kind/definition.ts';
import type { SerialWriteConfig } from './definition.ts';

/** Time after which an answer no longer comes. */
const OWED_FOR_MS = 60_000;
/** Off that is refused is told again every two seconds. */
const MAX_OWED = 100;
/** An answer that matches nothing within this is noise. */
const MAX_ANSWER_CHARACTERS = 4096;

/** @throws as SerialPorts.open. */
export function opener(config: SerialWriteConfig, { ports, clock }: DriverDeps): OpenDriver {
  const { port: path, baudRate, dataBits, parity, stopBits, replyTimeoutMs } = config;
  // Values that were told and whose answers may come yet, in their order: also from a port that is opened anew.
  let owed: readonly { readonly value: ActuatorValue; readonly untilMs: number }[] = [];
  const noAnswer = (why: string): AgentError => retryable('actuators/no-answer', `${path}: ${why}`);
  return async (signal) => {
    const expected = config.expect === undefined ? undefined : (await loadLinearPatterns())(config.expect);
    const port = await ports.serial.open({ port: path, baudRate, dataBits, parity, stopBits }, signal);
    const answered = async (line: Buffer, answer: LinearPattern, writeSignal: AbortSignal): Promise<void> => {
      const heard = Promise.withResolvers<void>();
      const late = (): never => {
        if (writeSignal.aborted) throw noAnswer('nobody waits for the answer any more');
        throw noAnswer(`no answer that matches ${config.expect} within ${replyTimeoutMs} ms`);
      };
      let text = '';
      // Listening begins before speaking: a quick device answers while the last byte is still reported as sent.
      const stopListening = port.onBytes((bytes) => {
        text = (text + Buffer.from(bytes).toString('latin1')).slice(-MAX_ANSWER_CHARACTERS);
        if (answer.test(text)) heard.resolve();
      });
      const hearing = outcomeWithin(clock, replyTimeoutMs, () => heard.promise, late, writeSignal);
      hearing.catch(() => {}); // a write that fails first leaves it unheard
      try {
        await port.write(line, writeSignal);
        await hearing;
      } finally {
        stopListening();
        heard.resolve();
      }
    };
    return {
      write: async (value, writeSignal) => {
        const around = config.template.split('{value}').map(bytesOfText);
        const word = Buffer.from(wordOf(value));
        const line = Buffer.concat(around.flatMap((part, at) => (at === 0 ? [part] : [word, part])));
        if (expected === undefined) return await port.write(line, writeSignal);
        try {
          await answered(line, expected, writeSignal);
          const earlier = owed.filter(({ untilMs }) => clock.monotonicMs() < untilMs);
          const isProof = earlier.every((one) => one.value === value);
          // Off that was refused for long has many answers owed; taking one of them for that of a later "on" leaves nothing on.
          owed = isProof && !isActive(value) ? [] : earlier.slice(1);
          if (!isProof) throw noAnswer('the answer may be that of an earlier command');
        } catch (error) {
          // Without a port nothing was told.
          if (!hasCode(error, 'hardware/serial-unplugged'))
            owed = [...owed.slice(0, MAX_OWED - 1), { value, untilMs: clock.monotonicMs() + OWED_FOR_MS }];
          throw error;
        }
      },
      close: () => port.close(),
    };
  };
}

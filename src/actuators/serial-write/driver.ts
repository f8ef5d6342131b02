/**
 * Something that is told in words over a serial line: a template with the value in it, and the answer that means it was heard. An answer does
 * not say to what: while an earlier command owes its own, it is not taken for that of the present one.
 */
import { AgentError, hasCode } from '../../errors.ts';
import type { SerialPort } from '../../hardware/serial-port.ts';
import { wordOf } from '../../host/argument-template.ts';
import type { Clock } from '../../host/clock.ts';
import type { DriverDeps, OpenDriver } from '../definition.ts';
import type { SerialWriteConfig } from './definition.ts';
import { OwedAnswers } from './owed-answers.ts';

/** An answer that matches nothing within this is noise. */
const MAX_ANSWER_CHARACTERS = 4096;

/** @throws as SerialPorts.open. */
export function opener(config: SerialWriteConfig, { ports, clock }: DriverDeps): OpenDriver {
  const { port: path, baudRate, dataBits, parity, stopBits } = config;
  const expected = config.expect === undefined ? undefined : new RegExp(config.expect, 'u');
  // A port that is opened anew may still bring what was asked of it before.
  const owed = new OwedAnswers(clock);
  return async (signal) => {
    const port = await ports.serial.open({ port: path, baudRate, dataBits, parity, stopBits }, signal);
    return {
      write: async (value, writeSignal) => {
        const line = Buffer.from(config.template.replaceAll('{value}', () => wordOf(value)));
        if (expected === undefined) return await port.write(line, writeSignal);
        // Listening begins before speaking: a quick device answers while the last byte is still reported as sent.
        const answer = answerOf(port, { expected, withinMs: config.replyTimeoutMs, clock }, writeSignal);
        try {
          await port.write(line, writeSignal);
          await answer.heard;
          if (!owed.proves(value)) throw noAnswer(port, 'the answer may be that of an earlier command');
        } catch (error) {
          // Without a port nothing was told.
          if (!hasCode(error, 'hardware/serial-unplugged')) owed.owe(value);
          throw error;
        } finally {
          answer.end();
        }
      },
      close: () => port.close(),
    };
  };
}

interface ExpectedAnswer {
  readonly expected: RegExp;
  readonly withinMs: number;
  readonly clock: Clock;
}

function answerOf(
  port: SerialPort,
  { expected, withinMs, clock }: ExpectedAnswer,
  signal: AbortSignal,
): { heard: Promise<void>; end: () => void } {
  let text = '';
  let end = (): void => {};
  const heard = new Promise<void>((resolve, reject) => {
    const fail = (why: string): void => reject(noAnswer(port, why));
    const stopListening = port.onBytes((bytes) => {
      text = (text + Buffer.from(bytes).toString('latin1')).slice(-MAX_ANSWER_CHARACTERS);
      if (expected.test(text)) resolve();
    });
    const cancel = clock.after(withinMs, () => fail(`no answer that matches ${expected.source} within ${withinMs} ms`));
    const abort = (): void => fail('nobody waits for the answer any more');
    signal.addEventListener('abort', abort, { once: true });
    end = () => {
      stopListening();
      cancel();
      signal.removeEventListener('abort', abort);
    };
  });
  // A write that fails first leaves this one unheard.
  heard.catch(() => {});
  return { heard, end: () => end() };
}

function noAnswer({ path }: SerialPort, why: string): AgentError {
  return new AgentError('actuators/no-answer', `${path}: ${why}`, { recovery: 'retry' });
}

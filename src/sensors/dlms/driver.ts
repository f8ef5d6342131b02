/**
 * A meter that sends its lists by itself, some every two seconds and some once an hour: a read gives what came since the last one, or waits for
 * the next message. What could not be read is told in words: a damaged frame, a key that does not fit, a list without a known meaning.
 *
 *   bytes ─► frames ─► segments, blocks ─► message ─► deciphered ─► data ─► readings
 */

import { bytesOfHex } from '../../config/fields/request-text.ts';
import { AgentError, messageOf } from '../../errors/agent-error.ts';
import { withinDeadline } from '../../hardware/deadline.ts';
import { type Keys, plainOf, wrongKey } from '../families/ciphers/dlms-cipher.ts';
import type { Outcome } from '../kind/outcome.ts';
import type { Reading, Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { type Datum, dataOf } from './data.ts';
import type { DlmsConfig } from './definition.ts';
import { FrameCutter } from './frames.ts';
import { readLists } from './lists.ts';
import { MessageJoiner } from './segments.ts';
import { descriptionOf, outcomesOf } from './values.ts';

export async function open(
  config: DlmsConfig,
  { ports, clock, files, log }: SensorDeps,
  signal: AbortSignal,
): Promise<Sensor> {
  const { name } = config;
  const lists = await readLists(files);
  const keys = keysOf(config);
  const port = await ports.serial.open(config, signal);
  /** By key, what came since the last read. */
  let heard = new Map<string, Reading>();
  let refused: readonly Refusal[] = [];
  let problem: AgentError | undefined;
  let isTalking = false;
  let next = Promise.withResolvers<void>();
  const take = (message: Uint8Array): void => {
    try {
      const outcomes = readingsOf(message, keys, lists);
      const monotonicMs = clock.monotonicMs();
      for (const outcome of outcomes) if (!('fault' in outcome)) heard.set(outcome.key, { ...outcome, monotonicMs });
      refused = outcomes.filter((outcome) => 'fault' in outcome);
      problem = undefined;
    } catch (error) {
      if (!(error instanceof AgentError) && !(error instanceof RangeError)) throw error;
      problem = error instanceof AgentError ? error : sensorFault('bad-reading', error.message, error);
      log.debug({ sensor: name, problem: messageOf(error) }, 'a message that could not be read');
    }
    next.resolve();
    next = Promise.withResolvers();
  };
  const joiner = new MessageJoiner(take);
  const cutter = new FrameCutter((segment) => joiner.addSegment(segment));
  port.onBytes((bytes) => {
    isTalking = true;
    cutter.cutBytes(bytes);
  });
  port.onPlug(() => {
    cutter.reset();
    joiner.reset();
  });
  const silence = (): string => {
    if (!port.plugged) return `${port.path} is unplugged`;
    if (cutter.damaged > 0)
      return `${cutter.damaged} frames on ${port.path} were damaged: their check sums are wrong (parity? level?)`;
    return isTalking
      ? `bytes come on ${port.path}, and no frame of DLMS (baud rate? parity?)`
      : `nothing comes on ${port.path}`;
  };
  return {
    name,
    read: async (within) => {
      if (!port.plugged) throw sensorFault('silent', silence());
      isTalking = false;
      if (heard.size === 0)
        await withinDeadline(next.promise, 'waiting for a message', within).catch((cause: unknown) => {
          throw problem ?? sensorFault('silent', silence(), cause);
        });
      const readings = [...heard.values()];
      heard = new Map();
      if (readings.length === 0)
        throw problem ?? refused[0]?.fault ?? sensorFault('no-value', 'the message has no value that is known here');
      return readings;
    },
    refused: () => refused,
    close: () => port.close(),
  };
}

/** Bytes of the configured keys. */
function keysOf({ key, authenticationKey, systemTitle }: DlmsConfig): Keys {
  return {
    key: key && bytesOfHex(key.reveal()),
    authenticationKey: authenticationKey && bytesOfHex(authenticationKey.reveal()),
    systemTitle: systemTitle === undefined ? undefined : bytesOfHex(systemTitle),
  };
}

/** @throws AgentError `sensors/wrong-key`, `sensors/unknown-list`, `sensors/bad-reading` (retry). */
export function readingsOf(
  message: Uint8Array,
  keys: Keys,
  lists: Parameters<typeof outcomesOf>[1],
): readonly Outcome[] {
  const { plain, isProved } = plainOf(message, keys);
  const data = dataIn(plain, isProved);
  const outcomes = outcomesOf(data, lists);
  if (outcomes === undefined)
    throw sensorFault('unknown-list', `the list that the meter sends is not known here (${descriptionOf(data)})`);
  return outcomes;
}

/** A message that nothing proves is nonsense under a wrong key. */
function dataIn(plain: Uint8Array, isProved: boolean): Datum {
  try {
    return dataOf(plain);
  } catch (error) {
    if (isProved || !(error instanceof RangeError)) throw error;
    throw wrongKey(error.message, error);
  }
}

/** A meter that sends its readout by itself, every one to ten seconds (mode D): a read gives the newest, or waits for the next. */
import { withinDeadline } from '../../hardware/deadline.ts';
import { LineTrouble } from '../families/lines/line-trouble.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { Conversation } from './conversation.ts';
import type { Iec62056Config } from './definition.ts';
import type { Readout, ReadoutSource } from './driver.ts';
import { type Found, identificationIn, readoutIn } from './frames.ts';

/** Age up to which a readout counts as present. */
const FRESH_MS = 10_000;

export async function openListener(
  config: Iec62056Config,
  { ports, clock }: SensorDeps,
  signal: AbortSignal,
): Promise<ReadoutSource> {
  const port = await ports.serial.open(config, signal);
  const trouble = new LineTrouble(clock);
  const conversation = new Conversation({ port, clock, gapMs: config.responseTimeoutMs });
  let heard: Required<Readout> | undefined;
  let next = Promise.withResolvers<Required<Readout>>();
  port.onBytes((bytes) => {
    trouble.hear(bytes);
    conversation.hear(bytes);
    for (;;) {
      const found = telegramIn(conversation.rest);
      if (found === undefined) return;
      conversation.drop(found.used);
      if (found.value === undefined) {
        trouble.count('check-sum', '');
        continue;
      }
      heard = { ...found.value, monotonicMs: clock.monotonicMs() };
      trouble.forget();
      next.resolve(heard);
      next = Promise.withResolvers();
    }
  });
  port.onPlug(() => conversation.reset());
  const silence = (): string => {
    if (!port.plugged) return `${port.path} ${port.outage ?? 'is unplugged'}`;
    return trouble.words(port.path, 'telegrams', FRESH_MS);
  };
  return {
    read: async (within) => {
      if (!port.plugged) throw sensorFault('silent', silence());
      if (heard !== undefined && clock.monotonicMs() - heard.monotonicMs <= FRESH_MS) return heard;
      return await withinDeadline(next.promise, 'waiting for a telegram', within).catch((cause: unknown) => {
        throw sensorFault('silent', silence(), cause);
      });
    },
    close: () => port.close(),
  };
}

/** Returns the first whole telegram; its value is undefined when its check sum is wrong. */
function telegramIn(bytes: Buffer): Found<Readout | undefined> | undefined {
  const identification = identificationIn(bytes);
  if (identification === undefined) return undefined;
  const { used, value } = identification;
  const block = readoutIn(bytes.subarray(used));
  if (block === undefined) return undefined;
  // A telegram that was cut off has the identification of the next one in it.
  const again = identificationIn(bytes.subarray(used, used + block.used));
  if (again !== undefined) return { value: undefined, used: used + again.used - again.length, length: 0 };
  return {
    value: block.value.isGood ? { identification: value, text: block.value.text } : undefined,
    used: used + block.used,
    length: block.used,
  };
}

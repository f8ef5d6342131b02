/** A meter that sends its telegrams by itself, every one to four seconds: a read gives the newest, or waits for the next. */
import { messageOf } from '../../errors/agent-error.ts';
import { withinDeadline } from '../../hardware/deadline.ts';
import { LineTrouble } from '../families/lines/line-trouble.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { SmlConfig } from './definition.ts';
import { entriesOf } from './messages.ts';
import { TelegramCutter } from './telegrams.ts';
import { readingsOf } from './values.ts';

/** An older telegram says nothing about now. */
const FRESH_MS = 10_000;

interface Heard {
  readonly readings: readonly Reading[];
  readonly monotonicMs: number;
}

export async function open(config: SmlConfig, { ports, clock, log }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name } = config;
  const port = await ports.serial.open(config, signal);
  let heard: Heard | undefined;
  const trouble = new LineTrouble(clock);
  let next = Promise.withResolvers<Heard>();
  const cutter = new TelegramCutter((messages) => {
    try {
      const monotonicMs = clock.monotonicMs();
      heard = {
        readings: readingsOf(entriesOf(messages)).map((reading) => ({ ...reading, monotonicMs })),
        monotonicMs,
      };
      trouble.forget();
      next.resolve(heard);
      next = Promise.withResolvers();
    } catch (error) {
      log.debug({ sensor: name, problem: messageOf(error) }, 'a telegram that could not be read');
    }
  });
  port.onBytes((bytes) => {
    trouble.hear(bytes);
    cutter.cutBytes(bytes);
  });
  port.onPlug(() => cutter.reset());
  const silence = (): string => {
    if (!port.plugged) return `${port.path} is unplugged`;
    if (cutter.damaged > 0)
      return `${cutter.damaged} telegrams on ${port.path} were damaged: the reading head sits askew, or gets other light`;
    return trouble.words(port.path, 'telegrams', FRESH_MS);
  };
  return {
    name,
    read: async (within) => {
      if (!port.plugged) throw sensorFault('silent', silence());
      const isFresh = heard !== undefined && clock.monotonicMs() - heard.monotonicMs <= FRESH_MS;
      const { readings } =
        isFresh && heard !== undefined
          ? heard
          : await withinDeadline(next.promise, 'waiting for a telegram', within).catch((cause: unknown) => {
              throw sensorFault('silent', silence(), cause);
            });
      if (readings.length === 0)
        throw sensorFault('no-value', `the telegrams on ${port.path} have no value that is known here`);
      return readings;
    },
    close: () => port.close(),
  };
}

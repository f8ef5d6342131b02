/**
 * A device that publishes to a broker. Each message is a reading, and is acknowledged once what is reported of it is durable or at the platform.
 * A message that cannot be read is counted and acknowledged, since it would come again for ever. A retained one is of unknown age: it is shown and
 * reported, and nothing is held against it.
 */
import { parseJsonPath, valueAt } from '../../config/fields/json-path.ts';
import { messageOf } from '../../errors/agent-error.ts';
import type { MqttMessage } from '../../hardware/mqtt-port.ts';
import { parseJson } from '../../values/json.ts';
import type { Kept } from '../../values/kept.ts';
import { valuesAtPaths } from '../families/lines/json-values.ts';
import { openLineParser } from '../families/lines/line-format.ts';
import { parseOutput } from '../families/lines/output.ts';
import { type Outcome, sorted } from '../kind/outcome.ts';
import type { Reading, ReadingsListener, Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { MqttConfig } from './definition.ts';

/** An availability's message is a word, or a small object. */
const MAX_WORD_BYTES = 4_096;
/** A broker that starts anew is back by then. */
const OUTAGE_TOLD_AFTER_MS = 60_000;

export async function open(config: MqttConfig, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { ports, clock, log, brokerOf } = deps;
  const { name, topic, broker, format, paths, keyLevel, availability, periodMs, deadlineMs } = config;
  const settings = await brokerOf?.(broker);
  if (settings === undefined) throw sensorFault('no-broker', `there is no broker ${broker}`);
  const parse = paths === undefined ? await openLineParser(config) : undefined;
  const connection = await ports.mqtt.open(settings, signal);
  const openedAtMs = clock.monotonicMs();
  let lastAtMs = openedAtMs;
  let last: readonly Reading[] = [];
  let refused: readonly Refusal[] = [];
  let unread = 0;
  let problem = '';
  let gone: string | undefined;
  let tellTrouble = (): void => {};

  const outcomesOf = ({ topic: from, payload }: MqttMessage): readonly Outcome[] => {
    const text = Buffer.from(payload).toString('utf8');
    const outcomes = parse === undefined ? valuesAtPaths(paths, text) : parseOutput(text, format, parse);
    if (keyLevel === undefined) return outcomes;
    const level = from.split('/')[keyLevel - 1] ?? '';
    return outcomes.map((one) => ({ ...one, key: format === 'number' ? level : `${level}_${one.key}` }));
  };

  const take = (message: MqttMessage, listener: ReadingsListener): Kept => {
    const { payload, isRetained } = message;
    // An empty message takes back a retained one.
    if (payload.length === 0) return;
    let readings: readonly Reading[];
    try {
      const given = sorted(outcomesOf(message));
      refused = given.refused;
      readings = isRetained ? given.readings.map((reading) => ({ ...reading, isOld: true })) : given.readings;
    } catch (error) {
      unread += 1;
      problem = messageOf(error);
      log.debug({ sensor: name, topic: message.topic, count: unread, problem }, 'a message that could not be read');
      return;
    }
    unread = 0;
    last = readings;
    if (!isRetained) lastAtMs = clock.monotonicMs();
    return listener(readings);
  };

  const takeAvailability = ({ payload }: MqttMessage): void => {
    if (availability === undefined) return;
    const word = availabilityWord(payload, availability.path);
    if (word === availability.offline) {
      gone = `${availability.topic} says ${availability.offline}`;
      tellTrouble();
    } else if (word === availability.online) gone = undefined;
    else log.debug({ sensor: name, topic: availability.topic }, 'a word of availability that is not known');
  };

  const unsubscribeAvailability =
    availability === undefined
      ? () => {}
      : connection.subscribe(availability.topic, takeAvailability, { remember: true });
  let unsubscribe = (): void => {};
  return {
    name,
    speaksByItself: true,
    read: async () => {
      const { outage } = connection;
      const nowMs = clock.monotonicMs();
      if (gone !== undefined) throw sensorFault('unavailable', gone);
      if (nowMs - openedAtMs < deadlineMs) return last;
      if (outage !== undefined) throw sensorFault('no-broker', outage);
      const refusal = connection.refusal(topic);
      if (refusal !== undefined) throw sensorFault('refused', refusal);
      if (nowMs - lastAtMs > periodMs + deadlineMs)
        throw sensorFault(
          'silent',
          unread === 0 ? `nothing comes under ${topic}` : unreadInWords(unread, topic, problem),
        );
      return last;
    },
    refused: () => refused,
    onTrouble: (listener) => {
      const tellIfThere = (): void => {
        if (connection.outage !== undefined || connection.refusal(topic) !== undefined) listener();
      };
      tellTrouble = listener;
      if (gone !== undefined) listener();
      let cancelOutage = (): void => {};
      const cancelFirst = clock.after(deadlineMs, tellIfThere);
      const endOutage = connection.onOutage(() => {
        cancelOutage();
        cancelOutage = clock.after(OUTAGE_TOLD_AFTER_MS, tellIfThere);
      });
      return () => {
        tellTrouble = () => {};
        for (const end of [cancelFirst, cancelOutage, endOutage]) end();
      };
    },
    subscribe: (listener) => {
      unsubscribe = connection.subscribe(topic, (message) => take(message, listener));
      return unsubscribe;
    },
    close: async () => {
      unsubscribe();
      unsubscribeAvailability();
      await connection.close();
    },
  };
}

function unreadInWords(count: number, topic: string, problem: string): string {
  const what = count === 1 ? '1 message came' : `${count} messages came`;
  return `${what} under ${topic}, and none could be read: ${problem}: check format`;
}

function availabilityWord(payload: Uint8Array, path: string | undefined): string | undefined {
  if (payload.length > MAX_WORD_BYTES) return undefined;
  const text = Buffer.from(payload).toString('utf8').trim();
  if (path === undefined) return text;
  try {
    const value = valueAt(parseJson(text), parseJsonPath(path) ?? []);
    return value === undefined ? undefined : String(value);
  } catch {
    return undefined;
  }
}

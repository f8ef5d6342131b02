/**
 * Something that takes commands from a broker, and says under `stateTopic` what it is.
 *
 *   write ─► publish ─► PUBACK ─► a state of the device that is the value ─► done
 *                                  └ none within the deadline ─────────────► unknown: it may still move
 *
 * A message that the broker retained is of unknown age: it is the state until the device speaks on this connection, and proves no command. A quick
 * device speaks before the broker's PUBACK is handled: what it says from the publication on counts, as far as it says nothing else by then.
 */
import { retryable } from '../../errors/agent-error.ts';
import type { MqttConnection, MqttMessage } from '../../hardware/mqtt-port.ts';
import { outcomeWithin, withinMs } from '../../host/bounded-wait.ts';
import { type ActuatorValue, inWords } from '../kind/actuator.ts';
import type { DriverDeps, OpenDriver } from '../kind/definition.ts';
import type { MqttOutputConfig } from './definition.ts';
import { messageFor, stateIn, type ToldState } from './messages.ts';

/** Time after opening in which the connection and the retained state may still come. */
const BEGIN_WITHIN_MS = 3_000;
const LOOK_EVERY_MS = 50;

/** @throws as MqttPort.open; AgentError `actuators/no-broker` (retry) for a broker that is not in the configuration. */
export function opener(config: MqttOutputConfig, { ports, clock, brokerOf }: DriverDeps): OpenDriver {
  const { broker, topic, qos, retain, stateTopic, deadlineMs } = config;
  return async (signal) => {
    const settings = await brokerOf?.(broker);
    if (settings === undefined) throw retryable('actuators/no-broker', `there is no broker ${broker}`);
    const connection = await ports.mqtt.open(settings, signal);
    const untilMs = clock.monotonicMs() + BEGIN_WITHIN_MS;
    let shown: ToldState | undefined;
    /** True once the device has spoken on this connection. The next connection may bring a newer retained state. */
    let hasSpoken = false;
    /** Value that the device has said by itself since it was told something else. */
    let proven: ActuatorValue | undefined;
    let onState = (): void => {};
    const take = ({ payload, isRetained }: MqttMessage): void => {
      const told = stateIn(config, payload);
      if (told === undefined || (isRetained && hasSpoken)) return;
      shown = told;
      proven = !isRetained && 'value' in told ? told.value : undefined;
      if (isRetained) return;
      hasSpoken = true;
      onState();
    };
    const forget = connection.onOutage(() => {
      hasSpoken = false;
    });
    const unsubscribe =
      stateTopic === undefined ? () => {} : connection.subscribe(stateTopic, take, { remember: true });

    /** Waits until it is ready, at most until shortly after opening. */
    const begun = async (isReady: () => boolean, waitSignal: AbortSignal): Promise<void> => {
      while (!isReady() && clock.monotonicMs() < untilMs && !waitSignal.aborted)
        await clock.sleep(LOOK_EVERY_MS, waitSignal);
    };
    const expectBroker = (): void => {
      const { outage } = connection;
      if (outage !== undefined) throw retryable('hardware/mqtt-no-answer', outage);
    };

    const write = async (value: ActuatorValue, writeSignal: AbortSignal): Promise<void> => {
      const payload = messageFor(config, value);
      await begun(() => connection.outage === undefined, writeSignal);
      expectBroker();
      if (proven !== value) proven = undefined;
      const publication = { topic, payload, qos, retain, expiresAfterMs: deadlineMs };
      const endMs = clock.monotonicMs() + deadlineMs;
      await withinMs(clock, deadlineMs, (within) => connection.publish(publication, within), writeSignal);
      if (stateTopic === undefined || proven === value) return;
      const { promise: said, resolve } = Promise.withResolvers<void>();
      const judge = (): void => {
        if (proven === value) resolve();
      };
      onState = judge;
      // A device that sleeps does it later. A command that overrides this one is published after it, and the broker keeps the order.
      const late = (): never => {
        const code = writeSignal.aborted ? 'actuators/no-answer' : 'hardware/outcome-unknown';
        throw retryable(code, notProven(value, { shown, connection, stateTopic }));
      };
      try {
        await outcomeWithin(clock, Math.max(0, endMs - clock.monotonicMs()), () => said, late, writeSignal);
      } finally {
        if (onState === judge) onState = () => {};
      }
    };
    const read = async (readSignal: AbortSignal): Promise<ActuatorValue> => {
      await begun(() => shown !== undefined, readSignal);
      expectBroker();
      const refusal = connection.refusal(stateTopic ?? '');
      if (refusal !== undefined) throw retryable('actuators/no-state', refusal);
      if (shown === undefined) throw retryable('actuators/no-state', `nothing has come under ${stateTopic} yet`);
      if ('unknown' in shown)
        throw retryable('actuators/bad-read-back', `${stateTopic} says ${shown.unknown}, which is no value`);
      return shown.value;
    };
    return {
      write,
      mendsItself: true,
      ...(stateTopic !== undefined && { read }),
      close: async () => {
        forget();
        unsubscribe();
        await connection.close();
      },
    };
  };
}

interface Witness {
  readonly shown: ToldState | undefined;
  readonly connection: MqttConnection;
  readonly stateTopic: string;
}

function notProven(value: ActuatorValue, { shown, connection, stateTopic }: Witness): string {
  const { outage } = connection;
  if (outage !== undefined) return `${outage}, before the device reported ${inWords(value)}`;
  const says = shown === undefined ? 'says nothing' : `says ${'value' in shown ? inWords(shown.value) : shown.unknown}`;
  return `the broker took the command, and the device did not report ${inWords(value)}: ${stateTopic} ${says}`;
}

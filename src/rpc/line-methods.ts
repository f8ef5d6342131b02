/** Methods of the configuration that are one command to a sensor's device, such as the tare of a scale: in the turns of its port, and once. */
import { bytesOf } from '../config/fields/request-text.ts';
import type { RpcConfig, RpcMethodConfig, SensorConfig } from '../config/schema/agent-config.ts';
import { AgentError } from '../errors/agent-error.ts';
import { withinDeadline } from '../hardware/deadline.ts';
import type { SerialBus } from '../hardware/serial-buses.ts';
import type { SerialSettings } from '../hardware/serial-port.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { HostMachine } from '../host/machine.ts';
import type { Operation } from '../operations/operation.ts';
import { loadLinearPatterns } from '../values/linear-pattern.ts';

/** Characters of an answer that are kept: a longer one without a match is noise. */
const MAX_ANSWER_CHARACTERS = 4096;
/** Silence after which an answer without a line end is complete. */
const LINE_END_MS = 500;
/** Share of a method's deadline for the device's answer; the rest is for the reply. */
const ANSWER_SHARE = 0.75;

export type LineMachine = Pick<HostMachine, 'clock'> & {
  readonly ports: { readonly serialBuses: { open(settings: SerialSettings, signal: AbortSignal): Promise<SerialBus> } };
};

interface Told {
  readonly name: string;
  readonly bytes: Buffer;
  readonly expect: string | undefined;
  readonly clock: Pick<Clock, 'after'>;
}

/** Entries of the configuration that send a command to the device of a sensor of `sensors`. */
export function lineMethods(
  configs: RpcConfig['methods'],
  sensors: readonly SensorConfig[],
  machine: LineMachine,
): readonly Operation[] {
  return Object.entries(configs).flatMap(([name, config]) => {
    const bytes = bytesOf(config.send, config.sendHex);
    const sensor = sensors.find((one) => one.name === config.sensor);
    if (bytes === undefined || sensor === undefined || !('port' in sensor)) return [];
    return [lineMethod(name, { bytes, config, sensor }, machine)];
  });
}

interface LineMethod {
  readonly bytes: Buffer;
  readonly config: RpcMethodConfig;
  readonly sensor: Extract<SensorConfig, { readonly port: string }>;
}

function lineMethod(name: string, { bytes, config, sensor }: LineMethod, { clock, ports }: LineMachine): Operation {
  const { expect, deadlineMs, description = `Sends a command to ${sensor.name}, once.`, params = {} } = config;
  return {
    name,
    description,
    params,
    deadlineMs,
    // A second tare would zero the load that was put on since the first.
    effect: 'move',
    moves: true,
    isDeclared: true,
    run: (_params, call) =>
      withinMs(
        clock,
        deadlineMs * ANSWER_SHARE,
        async (signal) => {
          const bus = await ports.serialBuses.open(sensor, signal);
          try {
            const turn = {
              what: `the command ${name} on ${sensor.port}`,
              rank: 'movement',
              hears: expect !== undefined,
            } as const;
            const answer = await bus.run(
              () => tell(bus, { name: sensor.name, bytes, expect, clock }, signal),
              turn,
              signal,
            );
            return answer === undefined ? { sent: true } : { sent: true, answer };
          } finally {
            await bus.close();
          }
        },
        call.signal,
      ),
  };
}

/** Returns the answer that was expected. @throws AgentError `rpc/no-proof` (drop): the device may have done it all the same. */
async function tell(
  bus: SerialBus,
  { name, bytes, expect, clock }: Told,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (expect === undefined) {
    await bus.port.write(bytes, signal);
    return undefined;
  }
  const hear = (): Promise<string> => answerOf(bus, { name, bytes, expect, clock }, signal);
  const { answer, isProof } = await bus.owed(expect).heard({ command: Symbol(name), endsAll: false }, hear);
  if (isProof) return answer;
  throw noProof(bus, name, 'the answer may be that of an earlier command');
}

async function answerOf(
  bus: SerialBus,
  { name, bytes, expect, clock }: Told & { readonly expect: string },
  signal: AbortSignal,
): Promise<string> {
  const expected = (await loadLinearPatterns())(expect);
  const heard = Promise.withResolvers<string>();
  let text = '';
  let cancel = (): void => {};
  // An answer may come while the last byte is still reported as sent, and in pieces.
  const stop = bus.onBytes((piece) => {
    text = (text + Buffer.from(piece).toString('latin1')).slice(-MAX_ANSWER_CHARACTERS);
    const lines = text.split(/[\r\n]+/);
    const at = lines.findIndex((line) => expected.test(line));
    if (at < 0 && !expected.test(text)) return;
    cancel();
    const answer = (lines[at] ?? text).trim();
    if (at >= 0 && at < lines.length - 1) heard.resolve(answer);
    else cancel = clock.after(LINE_END_MS, () => heard.resolve(answer));
  });
  try {
    await bus.port.write(bytes, signal);
    return await withinDeadline(heard.promise, `waiting for the answer of ${name}`, signal);
  } catch (cause) {
    if (!signal.aborted) throw cause;
    const what = text === '' ? 'nothing came' : `what came does not match ${expect}`;
    throw noProof(bus, name, what, cause);
  } finally {
    cancel();
    stop();
  }
}

function noProof({ port }: SerialBus, name: string, what: string, cause?: unknown): AgentError {
  return new AgentError('rpc/no-proof', `${name} was told on ${port.path}, and ${what}: it may have done it`, {
    recovery: 'drop',
    cause,
  });
}

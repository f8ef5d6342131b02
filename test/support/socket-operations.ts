/** Operations of a test at the control sockets, made of plain functions. */
import type { LocalDoorDeps } from '../../src/operations/local-door.ts';
import type { Asker } from '../../src/operations/may-ask.ts';
import { type Emit, type Operation, QUESTION } from '../../src/operations/operation.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/values/json.ts';

export interface SocketCalls {
  /** For the agent's group alone. */
  readonly methods?: Readonly<
    Record<string, (params: JsonObject, signal: AbortSignal) => Promise<JsonValue> | JsonValue>
  >;
  readonly readMethods?: SocketCalls['methods'];
  readonly readStreams?: Readonly<
    Record<string, (params: JsonObject, emit: Emit, signal: AbortSignal) => Promise<void>>
  >;
}

export function socketOperations({ methods = {}, readMethods = {}, readStreams = {} }: SocketCalls): LocalDoorDeps {
  const once =
    (asker: Asker) =>
    ([name, answer]: [string, NonNullable<SocketCalls['methods']>[string]]): Operation => ({
      ...row(name, asker),
      run: (params, { signal }) => answer(objectIn(params), signal),
    });
  const streams = Object.entries(readStreams).map(
    ([name, stream]): Operation => ({
      ...row(name, 'viewer'),
      isStream: true,
      run: async (params, { signal, emit = async () => {} }) => {
        await stream(objectIn(params), emit, signal);
        return null;
      },
    }),
  );
  return doorTo([
    ...Object.entries(readMethods).map(once('viewer')),
    ...Object.entries(methods).map(once('site')),
    ...streams,
  ]);
}

/** A door that is never locked, and tells nobody. */
export function doorTo(operations: readonly Operation[]): LocalDoorDeps {
  return { operations, locked: () => false, tell: () => {} };
}

function row(name: string, asker: Asker): Omit<Operation, 'run'> {
  return { ...QUESTION, name, description: `${name} of a test`, params: {}, askers: [asker] };
}

function objectIn(params: JsonValue): JsonObject {
  return isJsonObject(params) ? params : {};
}

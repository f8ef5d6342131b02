/** The table of operations at the control sockets: those for any user of the machine on both, the others on that of the agent's group. */
import { type LocalAsker, type LocalDoorDeps, openLocalDoor } from '../operations/local-door.ts';
import type { ControlCalls, ControlMethod } from './control-connection.ts';

export function operationCalls(deps: LocalDoorDeps): ControlCalls {
  const methodsOf = (asker: LocalAsker): Readonly<Record<string, ControlMethod>> => {
    const { operations, ask } = openLocalDoor(asker, deps);
    return Object.fromEntries(
      operations.map(({ name }) => [name, (params, signal) => ask(name, params, signal)] as const),
    );
  };
  return { methods: methodsOf('site'), readMethods: methodsOf('viewer') };
}

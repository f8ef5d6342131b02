/**
 * Faults that nobody awaits: an exception in a timer, a rejection without a catch. In code of the agent's own they mean that the program is
 * not what it should be, and it ends. Code of a user's runs with an owner, who is told instead: Node carries the owner along with every
 * callback and promise that began there (AsyncLocalStorage), so that it is known at the process edge whose fault it was.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

export type FaultOwner = (fault: unknown) => void;

/** The one state of a module's own: Node has one context for the whole process. */
const owners = new AsyncLocalStorage<FaultOwner | undefined>();

/** Runs somebody else's code: what goes astray in it, now or later, is told to the owner. */
export function ownedBy<T>(owner: FaultOwner, work: () => T): T {
  return owners.run(owner, work);
}

/** Runs our own code that somebody else's calls. */
export function ownedByNobody<T>(work: () => T): T {
  return owners.run(undefined, work);
}

/** For the process edge, within its handlers of stray faults. False when it is the program's own. */
export function tellOwner(fault: unknown): boolean {
  const owner = owners.getStore();
  owner?.(fault);
  return owner !== undefined;
}

/** Doors to outputs: the operations that a person at the device or on the page may ask for, over outputs of a test. */

import { type LocalAsker, type LocalDoor, type LocalDoorDeps, openLocalDoor } from '../../src/operations/local-door.ts';
import { operationsOn } from '../../src/operations/operation.ts';
import type { ActuatorCalls } from '../../src/operations/output-operations.ts';
import { OUTPUT_OPERATIONS } from '../../src/operations/output-operations.ts';
import type { ToldEvent } from '../../src/timeline/event.ts';

/** @param outputs as far as the test asks for them. */
export function outputDoor(
  asker: LocalAsker,
  outputs: Partial<ActuatorCalls>,
  tell: (event: ToldEvent) => void = () => {},
  { locked = () => false, namedOutput }: Partial<Pick<LocalDoorDeps, 'locked' | 'namedOutput'>> = {},
): LocalDoor {
  // A test asks for no more of it than it gives.
  const operations = operationsOn(OUTPUT_OPERATIONS, outputs as unknown as ActuatorCalls);
  return openLocalDoor(asker, { operations, locked, tell, ...(namedOutput !== undefined && { namedOutput }) });
}

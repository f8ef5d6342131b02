/** Permission to ask for an operation, and the refusals of lockout: the same at every door. */
import { refusal } from '../errors/agent-error.ts';
import type { JsonValue } from '../values/json.ts';
import type { Operation } from './operation.ts';

/**
 * Asks: the platform by RPC, a person of the agent's group at the device (`site`), any user of the machine (`viewer`), somebody with the PIN on the
 * page.
 */
export type Asker = 'platform' | 'site' | 'viewer' | 'page';

/** Door of each asker, as the timeline and an acknowledgement name it. */
export const TOLD_BY = { platform: 'platform', page: 'page', site: 'local', viewer: 'local' } as const;

/** True when the asker may ask for it. Whoever is of the agent's group may all that any user of the machine may. */
export function mayAsk(asker: Asker, { askers = ['platform'] }: Pick<Operation, 'askers'>): boolean {
  return askers.includes(asker) || (asker === 'site' && askers.includes('viewer'));
}

/** Refuses what would move under lockout; a person on site holds the key. @throws AgentError `rpc/locked-out` (drop). */
export function expectUnlocked(
  { moves }: Pick<Operation, 'moves'>,
  params: JsonValue,
  { asker, locked }: { readonly asker: Asker; readonly locked: () => boolean },
): void {
  const isHeld = asker !== 'site' && (typeof moves === 'function' ? moves(params) : moves) && locked();
  if (isHeld) throw refusal('rpc/locked-out', 'the machine is locked out: someone works on it');
}

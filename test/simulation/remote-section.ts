/** What may be changed from afar, in a share of all worlds. Drawn apart from everything else, so that whatever a seed draws stays as it was. */
import type { RemoteAllowance } from '../../src/config/schema/agent-config.ts';
import { Chance } from './chance.ts';

const SHARE_OF_WORLDS = 0.2;
const ALLOWANCES: readonly RemoteAllowance[] = ['platform', 'programs', 'outputs'];

export interface RemoteSection {
  readonly trialS: number;
  readonly allow: readonly RemoteAllowance[];
}

export function remoteOf(seed: number): RemoteSection | undefined {
  const chance = new Chance(`remote configuration ${seed}`);
  if (!chance.happens(SHARE_OF_WORLDS)) return undefined;
  return { trialS: chance.pick([60, 120, 300]), allow: ALLOWANCES.filter(() => chance.happens(0.5)) };
}

export function remoteSection({ trialS, allow }: RemoteSection): string {
  return `{ enabled: true, trial: ${trialS}s, allow: [${allow.join(', ')}] }`;
}

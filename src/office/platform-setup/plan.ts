/** A plan of changes at the platform: each step says what it is, what becomes of it and why, before anything is done. */

import { CommandError } from '../../cli/exit-code.ts';
import type { PeopleApi } from '../../platform/people-api.ts';
import type { JsonObject } from '../../values/json.ts';

export type Verdict = 'make' | 'change' | 'keep';

export interface Step {
  /** The sort of thing: "device profile". */
  readonly what: string;
  readonly name: string;
  readonly verdict: Verdict;
  readonly why?: string;
  /** Missing where nothing is to be done. */
  readonly carryOut?: (made: Made) => Promise<void>;
}

/** Things that later steps need of earlier ones, and of before. */
export interface Made {
  profile?: JsonObject;
  gatewayDashboardId?: string;
  sensorDashboardId?: string;
  packageId?: string;
  /** Key and secret of gateways that make themselves known. */
  provisioning?: Provisioning;
  /** The same of devices that are attached to them. */
  devicesProvisioning?: Provisioning;
}

export interface Provisioning {
  readonly deviceKey: string;
  readonly deviceSecret: string;
  /** Made in this run: nobody has seen them yet. */
  readonly isNew: boolean;
}

export type Api = PeopleApi;

/** The only id of a thing as the platform gives it. @throws CommandError for an answer without one. */
export function idIn(thing: JsonObject | undefined): string {
  const { id } = (thing?.id ?? {}) as { readonly id?: unknown };
  if (typeof id !== 'string' || !/^[0-9a-f-]{36}$/i.test(id))
    throw new CommandError('the platform answered without an id', { nextStep: 'see whether this is its address' });
  return id;
}

export function reference(entityType: string, id: string): JsonObject {
  return { entityType, id };
}

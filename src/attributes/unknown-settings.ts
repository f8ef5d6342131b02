/**
 * Shared attributes that are named like a live setting and are none: a misspelt key, or a sensor that is not configured. Nobody would ask for them,
 * so each that is saved is asked for from then on and refused, until it is deleted at the platform or becomes a setting. Those that were settings of
 * an earlier release may have stood there for long: they are asked for from the start.
 */

import { nearest } from '../config/fields/did-you-mean.ts';
import type { ChangeableSetting } from '../config/live-config.ts';
import { configShape } from '../config/schema/agent-config.ts';
import { AgentError } from '../errors/agent-error.ts';
import type { SharedTarget } from './shared-target.ts';

/** A person who corrects a name saves a few; whoever makes names up must not fill the memory. */
const MAX_KNOWN = 20;

export class UnknownSettings {
  readonly #settings: () => readonly ChangeableSetting[];
  readonly #keys = new Set<string>();

  constructor(settings: () => readonly ChangeableSetting[]) {
    this.#settings = settings;
  }

  /** Takes the keys of an update. */
  noteSaved(keys: readonly string[]): void {
    const known = new Set(this.#settings().map(({ key }) => key));
    for (const key of keys)
      if (isNamedLikeSetting(key) && !known.has(key) && this.#keys.size < MAX_KNOWN) this.#keys.add(key);
  }

  targets(): readonly SharedTarget[] {
    const known = this.#settings().map(({ key }) => key);
    for (const key of known) this.#keys.delete(key);
    const former = formerSettings(known);
    return [...new Set([...former.keys(), ...this.#keys])].map((key) => ({
      key,
      shape: {},
      switchesOff: () => false,
      restored: false,
      writes: () => 0,
      apply: () => {
        const now = former.get(key);
        const meant = nearest(key, known);
        const hint = now !== undefined ? `: ${now}` : meant === undefined ? '' : `, did you mean ${meant}?`;
        throw new AgentError('agent/setting-refused', `${key} is no live setting${hint}`, { recovery: 'drop' });
      },
      clear: () => void this.#keys.delete(key),
    }));
  }
}

/** Settings of earlier releases that such a gateway had, each with what takes its place. */
function formerSettings(known: readonly string[]): ReadonlyMap<string, string> {
  const percents = known.filter((key) => key.endsWith('.deadband'));
  return new Map([
    ['platform.dailyBudget', 'it is link.daily now, which counts both directions'],
    ...percents.map((key) => [`${key}Percent`, `it is ${key} now, such as "5 %"`] as const),
  ]);
}

/** `log.levle` is; what has no dot, or begins with no section of the configuration, is somebody else's. */
function isNamedLikeSetting(key: string): boolean {
  const dot = key.indexOf('.');
  return dot > 0 && Object.hasOwn(configShape, key.slice(0, dot));
}

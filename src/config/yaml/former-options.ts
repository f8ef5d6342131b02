/** Options of earlier releases: each is an unknown key whose fault says what is written now. */
import type { ConfigPath } from '../fields/config-fault.ts';

interface FormerOption {
  /** Path of the option; `*` stands for a key of the site's own, `[]` for an index. */
  readonly path: string;
  /** Returns the sentence with the new words; `written` is the value as it can be shown, undefined for any but a number. */
  readonly now: (written: string | undefined, path: ConfigPath) => string;
}

export const FORMER_OPTIONS: readonly FormerOption[] = [
  {
    path: 'platform.dailyBudget',
    now: () => 'it is link.daily now, which counts both directions, with TLS and TCP/IP',
  },
  {
    path: 'provisioning.newPerDay',
    now: () => 'take newPerDay out: as many things may be swapped in a day as there are slots, and at least five',
  },
  {
    path: 'devices[].poll',
    now: () =>
      'take poll out: a device polls for commands and shared attributes when it has an actuator, for commands when a method of rpc.methods reads its sensor, and for shared attributes when it has handlers',
  },
  {
    path: 'sensors[].keys.*.deadbandPercent',
    now: (written = '5') => `deadbandPercent: ${written} is now deadband: ${written} %`,
  },
  { path: 'sensors[].registers.*.min', now: limitOfKey },
  { path: 'sensors[].registers.*.max', now: limitOfKey },
  { path: 'sensors[].fields.*.min', now: limitOfKey },
  { path: 'sensors[].fields.*.max', now: limitOfKey },
];

/** The limit of a value stands with the other rules of its key. */
function limitOfKey(written = '…', [, , place, key, word]: ConfigPath = []): string {
  return `${place}.${key}.${word}: ${written} is now keys.${key}.${word}: ${written} of the sensor`;
}

/** Returns what replaced the option at a path; undefined where there never was one. */
export function formerOption(path: ConfigPath, value: unknown): string | undefined {
  const option = FORMER_OPTIONS.find((one) => isAt(path, one.path));
  return option?.now(typeof value === 'number' ? String(value) : undefined, path);
}

function isAt(path: ConfigPath, pattern: string): boolean {
  const parts = pattern.replaceAll('[]', '.[]').split('.');
  return (
    parts.length === path.length &&
    parts.every((part, at) => (part === '[]' ? typeof path[at] === 'number' : part === '*' || part === path[at]))
  );
}

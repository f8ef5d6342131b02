/**
 * The answers a technician gives forty times, under the names that the configuration has for them, and the values each may have. No key holds
 * a secret, and a value that looks like one is refused without being shown.
 */
import { z } from 'zod';
import { deviceNameFindings } from '../config/checks/templates.ts';
import { nearest, oneOf } from '../config/fields/did-you-mean.ts';
import { filePath, text, url } from '../config/fields/fields.ts';
import { isLikeKey, withoutUser } from '../config/fields/shown-value.ts';
import { deviceNameTemplate } from '../config/schema/platform.ts';
import { bare } from '../config/schema/schema-walk.ts';
import { expectedOf } from '../config/yaml/zod-faults.ts';
import { printable } from '../names/printable.ts';
import { usageError } from './exit-code.ts';

/** In the order in which they are listed. */
const SCHEMAS = {
  'platform.url': url(),
  'provisioning.deviceName': deviceNameTemplate(),
  'provisioning.deviceKeyFile': filePath(),
  'provisioning.deviceSecretFile': filePath(),
  'status.page': z.enum(['off', 'loopback', 'lan']),
  'status.pinFile': filePath(),
  'analytics.url': url(),
  'analytics.user': text(/^[^\p{Cc}]{1,255}$/u, 'a user name of 1 to 255 characters'),
  colours: z.enum(['auto', 'always', 'never']),
};

export type SettingKey = keyof typeof SCHEMAS;
export type Settings = { readonly [key in SettingKey]?: z.infer<(typeof SCHEMAS)[key]> };

export const SETTING_KEYS = Object.keys(SCHEMAS) as readonly SettingKey[];

const MAX_VALUE_LENGTH = 1_024;
/** Names that the configuration has for its secrets. */
const SECRET_KEY = /(password|token|secret|pin|key)$/i;
/** `token=…`, `password: …`. */
const NAMED_SECRET = /\b(token|password|passwd|secret|pin)\s*[=:]/i;
/** Access tokens and provision keys that the platform makes have 20 letters and digits in a row. */
const LONG_WORDS = /[A-Za-z0-9]{20,}/g;

/** @throws CommandError (usage) for a key that does not exist. */
export function settingKey(word: string): SettingKey {
  const key = SETTING_KEYS.find((one) => one === word);
  if (key !== undefined) return key;
  const isSecret = SECRET_KEY.test(word);
  const meant = isSecret ? SETTING_KEYS.find((one) => one === `${word}File`) : nearest(word, SETTING_KEYS);
  const otherwise = isSecret ? 'settings keep no secrets' : oneOf(SETTING_KEYS);
  const shown = isLikeKey(word) ? ` "${printable(word)}"` : ' of that name';
  throw usageError(`there is no setting${shown}`, {
    nextStep: meant === undefined ? otherwise : `did you mean "${meant}"?`,
  });
}

/** A value that this key may have. @throws CommandError (usage), in words that tell no secret. */
export function settingValue(key: SettingKey, value: unknown): string {
  if (typeof value !== 'string' || value.length > MAX_VALUE_LENGTH)
    throw usageError(`${key}: the value is no text of at most ${MAX_VALUE_LENGTH} characters`);
  if (looksSecret(value))
    throw usageError(`${key}: the value looks like a password or token`, {
      nextStep: 'settings keep no secrets; name a file that holds it',
    });
  const schema = SCHEMAS[key];
  if (!schema.safeParse(value).success)
    throw wrongValue(key, expectedOf(schema, bare(schema).meta.expected), meantChoice(schema, value));
  const finding = key === 'provisioning.deviceName' ? deviceNameFindings(value)[0] : undefined;
  if (finding !== undefined)
    throw wrongValue(key, finding.expected, typeof finding.hint === 'function' ? finding.hint() : finding.hint);
  return value;
}

/** The value itself is not shown: it may be a secret that was typed in the wrong place. */
function wrongValue(key: SettingKey, expected: string, hint: string | undefined) {
  return usageError(`${key}: wrong value, expected ${expected}`, hint === undefined ? {} : { nextStep: hint });
}

function meantChoice(schema: (typeof SCHEMAS)[SettingKey], value: string): string | undefined {
  const meant = schema instanceof z.ZodEnum ? nearest(value, schema.options.map(String)) : undefined;
  return meant === undefined ? undefined : `did you mean "${meant}"?`;
}

function looksSecret(value: string): boolean {
  if (withoutUser(value) !== value || NAMED_SECRET.test(value)) return true;
  return [...value.matchAll(LONG_WORDS)].some(([word]) => /\d/.test(word) && /[A-Za-z]/.test(word));
}

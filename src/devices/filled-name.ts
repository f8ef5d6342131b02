/** Names of attached devices, made of their slot's template, and the serial numbers that stand in them. */
import type { DeviceConfig } from '../config/schema/devices.ts';
import type { JsonValue } from '../values/json.ts';
import { SELF } from '../values/self.ts';

const MAX_NAME_LENGTH = 255;
const MAX_NUMBER_LENGTH = 64;
/** Numbers that meters send which were never given one. */
const NO_NUMBER = /^[0\s-]*$/;

export interface NameWords {
  /** The gateway's name on the platform. */
  readonly gateway: string;
  readonly serialNumber: string | undefined;
}

/** Fills a slot's template; of `{serialNumber|name}` the first that is known. Undefined for what no device can be called. */
export function filledName({ deviceName, name, label }: DeviceConfig, words: NameWords): string | undefined {
  const known: Readonly<Record<string, string | undefined>> = { ...words, name, label };
  const filled = deviceName.replace(/\{([^{}]*)\}/g, (_whole, choices: string) => {
    const found = choices.split('|').map((word) => known[word]);
    return found.find((text) => text !== undefined && text !== '') ?? '';
  });
  const text = filled.replace(/[{}]/g, '').trim();
  return text === '' || text === SELF || text.startsWith('?') || text.length > MAX_NAME_LENGTH ? undefined : text;
}

/** True when the name tells the slot, so that a device in another slot has another name. */
export function tellsSlot({ deviceName }: DeviceConfig): boolean {
  return /\{[^{}]*\b(name|label)\b[^{}]*\}/.test(deviceName);
}

/** Text of a serial number; undefined of a value that is none. */
export function serialNumberIn(value: JsonValue): string | undefined {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return undefined;
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') return undefined;
  const text = String(value).trim();
  return text.length > MAX_NUMBER_LENGTH || NO_NUMBER.test(text) ? undefined : text;
}

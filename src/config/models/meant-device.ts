/** Finds the model or preset that a person means by what stands on the device, or by a part of its name: `SDM630` → `eastron-sdm630`. */
import { didYouMean } from '../fields/did-you-mean.ts';

interface Device {
  readonly name: string;
  readonly title?: string;
}

/** Shorter words stand in many names by chance. */
const MIN_LENGTH = 3;
/** More than anybody chooses from. */
const MAX_NAMED = 5;

/** `did you mean "eastron-sdm630"?`, several where it may be one of them, or nothing. */
export function meantDevice(written: string, devices: readonly Device[]): { readonly hint?: string } {
  const wanted = plain(written);
  const holds = (text: string): boolean => wanted.length >= MIN_LENGTH && plain(text).includes(wanted);
  const near = didYouMean(
    written,
    devices.map(({ name }) => name),
  );
  const found = devices.filter(({ name, title = '' }) => holds(name) || holds(title)).map(({ name }) => `"${name}"`);
  if (found.length === 0 || found.length > MAX_NAMED) return near;
  return { hint: `did you mean ${found.join(' or ')}?` };
}

/** Letters and digits, whatever the spelling: `SDM-630` is `sdm630`. */
function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

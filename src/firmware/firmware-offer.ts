/** An offer of the platform: the `fw_*` (and `sw_*`) shared attributes, read as one thing. */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../values/json.ts';
import { type ChecksumAlgorithm, checksumAlgorithm } from './checksum.ts';

/** Which of the platform's two kinds of package; it names the attributes, the telemetry and the endpoint. */
export type PackageKind = 'firmware' | 'software';

export const PACKAGE_KINDS: readonly PackageKind[] = ['firmware', 'software'];

export interface FirmwareOffer {
  readonly title: string;
  readonly version: string;
  /** Missing where the platform's own form has made the package of an external URL. */
  readonly checksum?: string | undefined;
  readonly algorithm: ChecksumAlgorithm;
  /** Some servers do not name it. */
  readonly sizeBytes?: number;
  /** Where the file lies when the platform does not keep it. */
  readonly url?: string;
  /** Tells two offers apart; the same offer is not tried again after it failed. */
  readonly fingerprint: string;
}

const MAX_TEXT_LENGTH = 255;
const MAX_URL_LENGTH = 2048;
const OTHER_FIELDS = ['checksum', 'checksum_algorithm', 'size', 'url', 'tag'] as const;
const FIELDS = ['title', 'version', ...OTHER_FIELDS] as const;

/** The wire's prefix of a kind. */
export function prefixOf(kind: PackageKind): 'fw' | 'sw' {
  return kind === 'firmware' ? 'fw' : 'sw';
}

/** The shared attributes that make up an offer. */
export function offerKeys(kind: PackageKind): string[] {
  return FIELDS.map((field) => `${prefixOf(kind)}_${field}`);
}

/** A package that is assigned but cannot be installed as it is described. */
export interface RefusedOffer extends Pick<FirmwareOffer, 'title' | 'version' | 'fingerprint'> {
  readonly fault: string;
}

/**
 * Reads what is assigned; undefined when nothing is. A number is taken for a title or version: with the platform's type casting `"12"`
 * arrives as 12.
 */
export function readOffer(kind: PackageKind, shared: JsonObject): FirmwareOffer | RefusedOffer | undefined {
  const prefix = prefixOf(kind);
  const asGiven = (name: (typeof FIELDS)[number]): string => {
    const value = shared[`${prefix}_${name}`];
    if (typeof value === 'number' || typeof value === 'bigint') return String(value);
    return typeof value === 'string' ? value : '';
  };
  const field = (name: (typeof FIELDS)[number]): string => asGiven(name).trim();
  if (field('title') === '' || field('version') === '') return undefined;
  // With its blanks: the platform is asked for the file by these very words.
  const title = asGiven('title');
  const version = asGiven('version');
  const algorithm = checksumAlgorithm(field('checksum_algorithm') || 'SHA256');
  const fault = faultOf({ title, version, checksum: field('checksum'), size: field('size'), url: field('url') });
  const fingerprint = fingerprintOf([title, version, ...OTHER_FIELDS.map(field)]);
  const named = { title: title.slice(0, MAX_TEXT_LENGTH), version: version.slice(0, MAX_TEXT_LENGTH), fingerprint };
  if (fault !== undefined) return { ...named, fault };
  if (algorithm === undefined)
    return { ...named, fault: `the checksum algorithm ${field('checksum_algorithm').slice(0, 40)} is not known` };
  const checksum = field('checksum').toLowerCase();
  return {
    ...named,
    algorithm,
    checksum: checksum || undefined,
    sizeBytes: Number(field('size')) || undefined,
    url: field('url') || undefined,
  };
}

/** How what is offered now stands to the offer that an update was begun for; `unread` until anything was read since the start. */
export type OfferStanding = 'offered' | 'withdrawn' | 'unread';

function faultOf(
  fields: Readonly<Record<'title' | 'version' | 'checksum' | 'size' | 'url', string>>,
): string | undefined {
  if (Math.max(fields.title.length, fields.version.length) > MAX_TEXT_LENGTH) return 'its title or version is too long';
  if (!/^[0-9a-fA-F]{0,128}$/.test(fields.checksum)) return 'its checksum is none';
  if (!/^\d{0,15}$/.test(fields.size)) return 'its size is not a number of bytes';
  if (fields.url.length > MAX_URL_LENGTH) return 'its address is too long';
  return undefined;
}

/** The platform's tag is no part of what is installed, but changing it is how a person asks for another attempt. */
function fingerprintOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** Answers to the question for a password: Basic (RFC 7617) and Digest (RFC 7616, MD5 and SHA-256, `auth`), whichever the device asks for. */
import { createHash } from 'node:crypto';

export interface Login {
  readonly user: string;
  readonly password: string;
}

/** Question of a device, kept for the requests that follow. */
export type LoginChallenge = { readonly scheme: 'basic' } | DigestChallenge;

interface DigestChallenge {
  readonly scheme: 'digest';
  readonly realm: string;
  readonly nonce: string;
  readonly opaque?: string;
  readonly algorithm: 'MD5' | 'SHA-256';
  /** False for devices of RFC 2069, which know no counts. */
  readonly isCounted: boolean;
}

/** A token, and what it stands for where it is a parameter: a word alone begins a challenge (RFC 9110, section 11.6.1). */
const WORD = /([!#$%&'*+.^_`|~\w-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/g;

interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  readonly fields: Map<string, string>;
}

/** The strongest that is known here; undefined for others. @param header of `WWW-Authenticate`. */
export function parseChallenge(header: string): LoginChallenge | undefined {
  const challenges = challengesOf(header);
  const digests = challenges.flatMap(({ scheme, fields }) => (scheme === 'digest' ? digestOf(fields) : []));
  const strongest = digests.find(({ algorithm }) => algorithm === 'SHA-256') ?? digests[0];
  return strongest ?? (challenges.some(({ scheme }) => scheme === 'basic') ? { scheme: 'basic' } : undefined);
}

/** One header may hold several challenges, and a quoted text any word, also that of a scheme. */
function challengesOf(header: string): readonly Challenge[] {
  const challenges: Challenge[] = [];
  for (const [, name = '', quoted, bare] of header.matchAll(WORD)) {
    const value = quoted?.replace(/\\(.)/g, '$1') ?? bare;
    if (value === undefined) challenges.push({ scheme: name.toLowerCase(), fields: new Map() });
    else challenges.at(-1)?.fields.set(name.toLowerCase(), value);
  }
  return challenges;
}

function digestOf(fields: Challenge['fields']): DigestChallenge[] {
  const algorithm = (fields.get('algorithm') ?? 'MD5').toUpperCase();
  const nonce = fields.get('nonce');
  const qop = fields.get('qop')?.split(/[\s,]+/);
  if (
    (algorithm !== 'MD5' && algorithm !== 'SHA-256') ||
    nonce === undefined ||
    (qop !== undefined && !qop.includes('auth'))
  )
    return [];
  const opaque = fields.get('opaque');
  return [
    {
      scheme: 'digest',
      realm: fields.get('realm') ?? '',
      nonce,
      algorithm,
      isCounted: qop !== undefined,
      ...(opaque !== undefined && { opaque }),
    },
  ];
}

export interface LoginRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** How often this challenge has been answered, from 1. */
  readonly count: number;
  /** Random text of the client. */
  readonly clientNonce: string;
}

/** Value of the `Authorization` header. */
export function authorization(challenge: LoginChallenge, { user, password }: Login, request: LoginRequest): string {
  if (challenge.scheme === 'basic') return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const { realm, nonce, opaque, algorithm, isCounted } = challenge;
  const hash = (text: string): string =>
    createHash(algorithm === 'MD5' ? 'md5' : 'sha256')
      .update(text)
      .digest('hex');
  const count = request.count.toString(16).padStart(8, '0');
  const middle = isCounted ? `${nonce}:${count}:${request.clientNonce}:auth` : nonce;
  const response = hash(
    `${hash(`${user}:${realm}:${password}`)}:${middle}:${hash(`${request.method}:${request.target}`)}`,
  );
  const fields = [
    ...[
      `username="${escaped(user)}"`,
      `realm="${escaped(realm)}"`,
      `nonce="${escaped(nonce)}"`,
      `uri="${request.target}"`,
    ],
    ...[`response="${response}"`, `algorithm=${algorithm}`],
    ...(isCounted ? ['qop=auth', `nc=${count}`, `cnonce="${request.clientNonce}"`] : []),
    ...(opaque === undefined ? [] : [`opaque="${escaped(opaque)}"`]),
  ];
  return `Digest ${fields.join(', ')}`;
}

function escaped(text: string): string {
  return text.replace(/(["\\])/g, '\\$1');
}

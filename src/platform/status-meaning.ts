/**
 * Meaning of each HTTP status of an answer, decided once for all that speak to a server: the device's calls, uploads, polls, downloads and people's
 * calls. What follows from it is each caller's; whether it was the platform at all is judged in `answer-or-portal.ts`.
 */

export type StatusMeaning =
  | 'done'
  | 'elsewhere'
  /** Network Authentication Required (RFC 6585): by definition somebody in between. */
  | 'portal'
  /** Fault of the request itself. */
  | 'bad-request'
  /** Credentials are not known. */
  | 'not-known'
  | 'not-allowed'
  | 'not-there'
  | 'proxy-login'
  /** Timeout of a request's body. */
  | 'too-slow'
  | 'changed-meanwhile'
  | 'too-large'
  | 'too-early'
  | 'limited'
  /** Any other 4xx: the same request will never succeed. */
  | 'refused'
  | 'server-fault'
  /** The server, or a proxy in front of it, takes no requests now. */
  | 'unavailable'
  /** A gateway in front of the server got no answer from it, or a broken one. */
  | 'gateway-fault'
  | 'gateway-timed-out';

const MEANINGS: ReadonlyMap<number, StatusMeaning> = new Map([
  [400, 'bad-request'],
  [401, 'not-known'],
  [403, 'not-allowed'],
  [404, 'not-there'],
  [407, 'proxy-login'],
  [408, 'too-slow'],
  [409, 'changed-meanwhile'],
  [413, 'too-large'],
  [422, 'bad-request'],
  [425, 'too-early'],
  [429, 'limited'],
  [502, 'gateway-fault'],
  [503, 'unavailable'],
  [504, 'gateway-timed-out'],
  [511, 'portal'],
]);
const BEHIND_A_GATEWAY: ReadonlySet<StatusMeaning> = new Set(['gateway-fault', 'unavailable', 'gateway-timed-out']);
const MAY_PASS: ReadonlySet<StatusMeaning> = new Set([
  ...BEHIND_A_GATEWAY,
  'too-slow',
  'too-early',
  'limited',
  'server-fault',
  'portal',
]);
const OF_A_DEVICE: ReadonlySet<StatusMeaning> = new Set(['not-known', 'not-allowed', 'not-there']);
const NO_NEWS: ReadonlySet<StatusMeaning> = new Set(['too-slow', 'unavailable', 'gateway-timed-out']);

/** @param status Of an answer, from 100 to 599. */
export function meaningOf(status: number): StatusMeaning {
  const own = MEANINGS.get(status);
  if (own !== undefined) return own;
  if (status < 300) return 'done';
  if (status < 400) return 'elsewhere';
  return status < 500 ? 'refused' : 'server-fault';
}

/** True when the server itself was not reached: a proxy or a balancer speaks for it (502, 503, 504). */
export function isGatewayFault(status: number): boolean {
  return BEHIND_A_GATEWAY.has(meaningOf(status));
}

/** True when the same request may be taken later (408, 425, 429 and every 5xx). */
export function mayPass(status: number): boolean {
  return MAY_PASS.has(meaningOf(status));
}

/** True for the ends of a long poll in which nothing happened: time-out, and a cut by a limit in between (wire-facts.md, "Long polls"). */
export function isNoNews(status: number): boolean {
  return NO_NEWS.has(meaningOf(status));
}

/** True when the platform has no such device, or none that may send (401, 403, 404). */
export function refusesDevice(status: number): boolean {
  return OF_A_DEVICE.has(meaningOf(status));
}

/** True when a body did not pass in time (408, 504). */
export function isTimedOut(status: number): boolean {
  const meaning = meaningOf(status);
  return meaning === 'too-slow' || meaning === 'gateway-timed-out';
}

/** True when the server asks for less, or for later (429, 503). */
export function asksForLess(status: number): boolean {
  const meaning = meaningOf(status);
  return meaning === 'limited' || meaning === 'unavailable';
}

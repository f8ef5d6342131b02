/**
 * Faults of the contact with the platform, as one table: by what they are recognised. In which words they are told, and what a person does about
 * each, stands in `names/sentences.ts`. Status, page, log, metrics, readiness and doctor all use these words. A host and a port are named; a path never is, as the token is in it.
 */
import type { Sentence } from '../errors/sentence.ts';
import { english, sentence } from '../names/sentences.ts';
import type { Answer, Verdict } from './answer-or-portal.ts';
import type { PlatformError } from './platform-error.ts';
import { isGatewayFault, meaningOf } from './status-meaning.ts';

/** Hosts (with a port that is not the scheme's own) on the way to the platform. */
export interface ContactPlace {
  /** Scheme, host and port of the platform. */
  readonly origin: string;
  readonly proxyHost?: string;
}

export type ContactReason = (typeof REASONS)[number];

export interface ContactFault {
  readonly reason: ContactReason;
  /** The fault, as one clause. */
  readonly problem: string;
  /** The next step for a person. */
  readonly remedy: string;
  /** Both as one sentence. */
  readonly sentence: Sentence;
}

/** Each has two sentences: the problem, and under `…/remedy` what to do about it. */
const REASONS = [
  'no-network',
  'no-route',
  'unknown-name',
  'no-name-server',
  'connection-refused',
  'no-answer',
  'connection-broken',
  'unknown-authority',
  'wrong-name',
  'expired',
  'not-yet-valid',
  'no-tls',
  'https-wanted',
  'no-device-api',
  'portal',
  'proxy-login',
  'proxy-refuses',
  'proxy-unreachable',
  'token-refused',
  'device-refused',
  'unavailable',
  'other-fault',
] as const;

/** Codes of the system, of TLS and of the HTTP client. */
const BY_CODE: Readonly<Record<string, ContactReason>> = {
  ENOTFOUND: 'unknown-name',
  EAI_AGAIN: 'no-name-server',
  ECONNREFUSED: 'connection-refused',
  EHOSTUNREACH: 'no-route',
  ENETUNREACH: 'no-route',
  EHOSTDOWN: 'no-answer',
  ETIMEDOUT: 'no-answer',
  UND_ERR_CONNECT_TIMEOUT: 'no-answer',
  UND_ERR_HEADERS_TIMEOUT: 'no-answer',
  UND_ERR_BODY_TIMEOUT: 'no-answer',
  ECONNRESET: 'connection-broken',
  EPIPE: 'connection-broken',
  UND_ERR_SOCKET: 'connection-broken',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'unknown-authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'unknown-authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'unknown-authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'unknown-authority',
  UNABLE_TO_GET_ISSUER_CERT: 'unknown-authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'wrong-name',
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'not-yet-valid',
  ERR_SSL_WRONG_VERSION_NUMBER: 'no-tls',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'no-tls',
  EPROTO: 'no-tls',
};
/** Before a tunnel stands these are the proxy's own. */
const OF_THE_FIRST_HOP: ReadonlySet<ContactReason> = new Set([
  'no-route',
  'unknown-name',
  'no-name-server',
  'connection-refused',
  'no-answer',
]);
/** On a machine without any address these say no more than that. */
const WITHOUT_NETWORK: ReadonlySet<ContactReason> = new Set([
  'no-route',
  'unknown-name',
  'no-name-server',
  'no-answer',
]);

/** Words for a code of the system, of TLS or of the HTTP client. */
export function networkProblem(code: string, host: string): string {
  return english(problemOf(BY_CODE[code] ?? 'other-fault', host, code));
}

/** Fault of an exchange that brought no answer. `hasNetwork`: this machine has an address that is not its own loopback's. */
export function faultOfError(error: PlatformError, place: ContactPlace, hasNetwork: boolean): ContactFault {
  const { networkCode: code = '', proxyStatus } = error;
  if (proxyStatus !== undefined)
    return told(proxyStatus === 407 ? 'proxy-login' : 'proxy-refuses', place, `status ${proxyStatus}`);
  const reason = BY_CODE[code] ?? 'other-fault';
  if (!hasNetwork && WITHOUT_NETWORK.has(reason)) return told('no-network', place);
  if (place.proxyHost !== undefined && OF_THE_FIRST_HOP.has(reason)) {
    const why = problemOf(reason, `the proxy ${place.proxyHost}`, code);
    return faultOf('proxy-unreachable', sentence('proxy-unreachable', { why }));
  }
  return told(reason, place, code || error.message);
}

/** Fault that an answer shows; undefined when the platform itself has answered, be it with a refusal of what was sent. */
export function faultOfAnswer(verdict: Verdict, answer: Answer, place: ContactPlace): ContactFault | undefined {
  const { status, location, contentType } = answer;
  const detail = `status ${status}`;
  const meaning = meaningOf(status);
  switch (verdict.kind) {
    case 'done':
    case 'refused':
    case 'too-large':
      return undefined;
    case 'busy':
      return isGatewayFault(status) ? told('unavailable', place, detail) : undefined;
    case 'not-understood':
      return told('portal', place, detail);
    case 'portal':
      return told(isToHttps(location, place) ? 'https-wanted' : 'portal', place, detail);
    case 'unauthorised':
      if (meaning === 'not-known') return told('token-refused', place);
      if (meaning === 'proxy-login') return told('proxy-login', place);
      if (meaning === 'not-there') return told('no-device-api', place);
      if (meaning === 'not-allowed' && place.proxyHost !== undefined && contentType !== 'application/json')
        return told('proxy-refuses', place, detail);
      return told('device-refused', place, detail);
  }
}

function told(reason: ContactReason, place: ContactPlace, detail = ''): ContactFault {
  return faultOf(reason, problemOf(reason, hostOf(place.origin), detail));
}

function faultOf(reason: ContactReason, problem: Sentence): ContactFault {
  const remedy = sentence(`${reason}/remedy`);
  return {
    reason,
    problem: english(problem),
    remedy: english(remedy),
    sentence: sentence('contactFault', { problem, remedy }),
  };
}

function problemOf(reason: ContactReason, host: string, detail: string): Sentence {
  return { id: reason, values: { host, detail } };
}

function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? 'the platform';
}

/** A login page lies on another host, as a rule. */
function isToHttps(location: string | undefined, { origin }: ContactPlace): boolean {
  const [from, to] = [URL.parse(origin), URL.parse(location ?? '')];
  return from?.protocol === 'http:' && to?.protocol === 'https:' && from.hostname === to.hostname;
}

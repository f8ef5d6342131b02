/**
 * Faults of the contact with the platform, as one table: by what they are recognised, in which words they are told, and what a person does about
 * each. Status, page, log, metrics, readiness and doctor all use these words. A host and a port are named; a path never is, as the token is in it.
 */
import type { Answer, Verdict } from './answer-or-portal.ts';
import type { PlatformError } from './platform-error.ts';
import { isGatewayFault, meaningOf } from './status-meaning.ts';

/** Hosts (with a port that is not the scheme's own) on the way to the platform. */
export interface ContactPlace {
  /** Scheme, host and port of the platform. */
  readonly origin: string;
  readonly proxyHost?: string;
}

export type ContactReason = keyof typeof FAULTS;

export interface ContactFault {
  readonly reason: ContactReason;
  /** The fault, as one clause. */
  readonly problem: string;
  /** The next step for a person. */
  readonly remedy: string;
}

interface Words {
  readonly problem: (host: string, detail: string) => string;
  readonly remedy: string;
}

const FAULTS = {
  'no-network': {
    problem: () => 'this machine has no network',
    remedy: 'check the cable, the modem or the Wi-Fi: ip address, ip route',
  },
  'no-route': {
    problem: (host) => `there is no route to ${host}`,
    remedy: 'check the gateway of this network: ip route; and the address in platform.url',
  },
  'unknown-name': {
    problem: (host) => `no name server knows ${host}`,
    remedy: 'check the spelling of platform.url, and the name servers in /etc/resolv.conf',
  },
  'no-name-server': {
    problem: (host) => `no name server answers for ${host}`,
    remedy: 'check the network, and the name servers in /etc/resolv.conf',
  },
  'connection-refused': {
    problem: (host) => `${host} refuses connections`,
    remedy: 'check the port in platform.url; is the platform up?',
  },
  'no-answer': {
    problem: (host) => `${host} does not answer`,
    remedy: 'check the address in platform.url and the firewalls on the way; is the platform up?',
  },
  'connection-broken': {
    problem: (host) => `${host} breaks off the connection`,
    remedy: 'check whether platform.url needs https://, and what stands between here and the platform',
  },
  'unknown-authority': {
    problem: (host) => `the certificate of ${host} is signed by an authority that is not trusted here`,
    remedy: 'give the PEM file of its authority as platform.caFile',
  },
  'wrong-name': {
    problem: (host) => `the certificate of ${host} is for another name`,
    remedy: 'write the name that is in the certificate into platform.url, or have the certificate made for this one',
  },
  expired: {
    problem: (host) => `the certificate of ${host} has expired, or this clock is wrong`,
    remedy: 'check this clock (timedatectl); renew the certificate on the platform',
  },
  'not-yet-valid': {
    problem: (host) => `the certificate of ${host} is not valid yet, or this clock is wrong`,
    remedy: 'set this clock: timedatectl set-ntp true',
  },
  'no-tls': {
    problem: (host) => `${host} does not speak TLS`,
    remedy: 'write http:// into platform.url, or the port that speaks TLS',
  },
  'https-wanted': {
    problem: (host) => `${host} redirects http to https`,
    remedy: 'write https:// into platform.url',
  },
  'no-device-api': {
    problem: (host) => `${host} has no device API at this address (404)`,
    remedy: 'write scheme, host and port of the platform into platform.url, and no path',
  },
  portal: {
    problem: (host, detail) =>
      `something between here and ${host} answers in its place (${detail}): a login page or a proxy`,
    remedy: 'log in with a browser in this network, or set platform.proxy; check platform.url',
  },
  'proxy-login': {
    problem: () => 'the proxy wants a login (407)',
    remedy: 'write user and password into platform.proxy',
  },
  'proxy-refuses': {
    problem: (host, detail) => `the proxy does not let through to ${host} (${detail})`,
    remedy: 'allow the platform on the proxy, or check platform.url and platform.proxy',
  },
  'proxy-unreachable': {
    problem: (_host, detail) => detail,
    remedy: 'check platform.proxy, or remove it where no proxy is needed',
  },
  'token-refused': {
    problem: () => 'the platform does not know this device’s access token (401)',
    remedy:
      'compare the token with the device’s credentials on the platform, or restore the device there; for another platform or tenant: turnstone identity forget --devices',
  },
  'device-refused': {
    problem: (_host, detail) => `the platform refuses this device (${detail})`,
    remedy: 'look at the device, its profile and the limits of its tenant on the platform',
  },
  unavailable: {
    problem: (host, detail) => `${host} answers that the platform is not there (${detail})`,
    remedy: 'wait until the platform is up again; readings are kept',
  },
  'other-fault': {
    problem: (host, detail) => `the connection to ${host} fails (${detail})`,
    remedy: 'turnstone doctor looks at each step of the way',
  },
} as const satisfies Readonly<Record<string, Words>>;

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
  const { problem }: Words = FAULTS[BY_CODE[code] ?? 'other-fault'];
  return problem(host, code);
}

/** Fault of an exchange that brought no answer. `hasNetwork`: this machine has an address that is not its own loopback's. */
export function faultOfError(error: PlatformError, place: ContactPlace, hasNetwork: boolean): ContactFault {
  const { networkCode: code = '', proxyStatus } = error;
  if (proxyStatus !== undefined)
    return told(proxyStatus === 407 ? 'proxy-login' : 'proxy-refuses', place, `status ${proxyStatus}`);
  const reason = BY_CODE[code] ?? 'other-fault';
  if (!hasNetwork && WITHOUT_NETWORK.has(reason)) return told('no-network', place);
  if (place.proxyHost !== undefined && OF_THE_FIRST_HOP.has(reason)) {
    const words: Words = FAULTS[reason];
    return told('proxy-unreachable', place, words.problem(`the proxy ${place.proxyHost}`, code));
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
  const { problem, remedy }: Words = FAULTS[reason];
  return { reason, problem: problem(hostOf(place.origin), detail), remedy };
}

function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? 'the platform';
}

/** A login page lies on another host, as a rule. */
function isToHttps(location: string | undefined, { origin }: ContactPlace): boolean {
  const [from, to] = [URL.parse(origin), URL.parse(location ?? '')];
  return from?.protocol === 'http:' && to?.protocol === 'https:' && from.hostname === to.hostname;
}

/** Words for what a broker ends a connection with, or refuses: reason codes of MQTT 5.0 (section 2.4) and return codes of MQTT 3.1.1. */
import { messageOf, systemCode } from '../errors/agent-error.ts';

const REASONS: Readonly<Record<number, string>> = {
  128: 'refuses without a reason',
  132: 'does not speak this version of MQTT: choose the other by version',
  133: 'refuses the clientId',
  134: 'refuses user or password',
  135: 'refuses this client: check user, password and its rights',
  136: 'is not ready',
  137: 'is busy',
  138: 'has banned this client',
  139: 'is shutting down',
  141: 'heard nothing for the time of keepAlive',
  142: 'gave the session to another client with the same clientId: give each client its own',
  149: 'was sent a packet that is too long',
  151: 'has reached a limit of its own',
};
/** Return codes of MQTT 3.1.1 (section 3.2.2.3) with the reason codes that mean the same. */
const REASONS_BY_RETURN: Readonly<Record<number, number>> = { 1: 132, 2: 133, 3: 136, 4: 134, 5: 135 };

const WITHOUT_TLS = 'mqtt:// instead of mqtts://, or its port with TLS, mostly 8883';
const WITH_TLS = 'mqtts:// instead of mqtt://, or its port without TLS, mostly 1883';
/** First byte of a TLS record that tells of an alert (RFC 8446, 5.1); no packet of MQTT that a broker sends begins with it. */
const TLS_ALERT = 0x15;

/** Progress of a connection until the broker hung up. */
export interface HangUp {
  readonly isTls: boolean;
  /** The handshake of TLS is over. */
  readonly isSecure: boolean;
  /** Undefined where nothing came. */
  readonly firstByte: number | undefined;
  /** The broker has let the client in. */
  readonly isIn: boolean;
  /** So did connections before it, soon after each was made. */
  readonly isRepeated: boolean;
  /** Id that other clients may have, too. */
  readonly clientId: string | undefined;
}

/** Returns how a broker hung up without a reason, and what it looks like. */
export function mqttHangUp(host: string, { isTls, isSecure, firstByte, isIn, isRepeated, clientId }: HangUp): string {
  if (isIn && isRepeated && clientId !== undefined)
    return `${host} hangs up again and again, as it does when another client has the same clientId, ${clientId}: give each client its own`;
  if (isIn) return `${host} hung up`;
  if (isTls && !isSecure) return `${host} hung up as TLS began, as a port without TLS does: ${WITHOUT_TLS}`;
  if (!isTls && answersInTls(firstByte)) return `${host} answers in TLS: ${WITH_TLS}`;
  if (!isTls && firstByte === undefined)
    return `${host} hung up without an answer, as a port with TLS does: ${WITH_TLS}`;
  return `${host} hung up before it let the gateway in`;
}

/** Words for what a connection ends with, by the system's code. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses the connection',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached: no network',
  ETIMEDOUT: 'cannot be reached',
  ENOTFOUND: 'has no address (name?)',
  EAI_AGAIN: 'has no address now (name server?)',
  ECONNRESET: 'hung up',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a certificate of its own: give it as caFile',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate of an unknown authority: give that as caFile',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate of an unknown authority: give that as caFile',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'has a certificate of an unknown authority: give that as caFile',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name: give that as serverName',
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  EPROTO: `does not speak TLS: ${WITHOUT_TLS}`,
  ERR_SSL_WRONG_VERSION_NUMBER: `does not speak TLS: ${WITHOUT_TLS}`,
};

/** Returns why there is no connection to a host, in words without user and password. */
export function mqttOutage(host: string, error: unknown): string {
  const reason = reasonOf(error);
  const code = systemCode(error);
  const words =
    (reason === undefined ? undefined : REASONS[REASONS_BY_RETURN[reason] ?? reason]) ??
    (code === undefined ? undefined : WORDS[code]);
  if (words !== undefined) return `${host} ${words}`;
  return `${host} gives no answer: ${reason === undefined ? (code ?? messageOf(error)) : `reason code ${reason}`}`;
}

/** True where a connection without TLS was answered with an alert of it. */
export function answersInTls(firstByte: number | undefined): boolean {
  return firstByte === TLS_ALERT;
}

/** True where the broker ended a connection, and said nothing. */
export function isHangUp(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE'].includes(systemCode(error) ?? '');
}

/** Returns why a broker does not give a filter. */
export function mqttRefusal(host: string, filter: string, error: unknown): string {
  const reason = reasonOf(error);
  const why = reason === undefined || reason === 128 ? 'without a reason' : `with reason code ${reason}`;
  return `${host} refuses ${filter}, ${reason === 135 ? 'for which the user has no right' : why}`;
}

function reasonOf(error: unknown): number | undefined {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'number'
    ? error.code
    : undefined;
}

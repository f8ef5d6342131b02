/** Words for what a broker ends a connection with, or refuses: reason codes of MQTT 5.0 (section 2.4) and return codes of MQTT 3.1.1. */
import { messageOf, systemCode } from '../errors/agent-error.ts';

const REASONS: Readonly<Record<number, string>> = {
  1: 'does not speak this version of MQTT: choose the other by version',
  2: 'refuses the clientId',
  3: 'is not ready',
  4: 'refuses user or password',
  5: 'refuses this client: check user, password and its rights',
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
  142: 'gave the session to another client with the same clientId',
  149: 'was sent a packet that is too long',
  151: 'has reached a limit of its own',
};

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
  EPROTO: 'does not speak TLS (mqtt instead of mqtts?)',
  ERR_SSL_WRONG_VERSION_NUMBER: 'does not speak TLS (mqtt instead of mqtts?)',
};

/** Returns why there is no connection to a host, in words without user and password. */
export function mqttOutage(host: string, error: unknown): string {
  const reason = reasonOf(error);
  const code = systemCode(error);
  const words = (reason === undefined ? undefined : REASONS[reason]) ?? (code === undefined ? undefined : WORDS[code]);
  if (words !== undefined) return `${host} ${words}`;
  return `${host} gives no answer: ${reason === undefined ? (code ?? messageOf(error)) : `reason code ${reason}`}`;
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

/** Failures of calls to the platform, and faults of the network told without the address: the token is in every path. */
import { AgentError, type ErrorCode, type Recovery, systemCode } from '../errors/agent-error.ts';
import { beginningWithoutSecrets, secretForms } from '../values/secret-forms.ts';
import { networkProblem } from './contact-faults.ts';

export type PlatformFault =
  | 'unauthorised'
  | 'busy'
  | 'portal'
  | 'refused'
  | 'too-large'
  | 'not-found'
  | 'bad-answer'
  | 'aborted'
  | 'settings';

const RECOVERIES: Readonly<Record<PlatformFault, Recovery>> = {
  unauthorised: 'hold',
  busy: 'retry',
  portal: 'hold',
  refused: 'drop',
  'too-large': 'drop',
  'not-found': 'hold',
  'bad-answer': 'retry',
  aborted: 'retry',
  settings: 'stop',
};

/** Faults of a connection that stood. */
const CUT: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET',
]);

/** The HTTP client has no code of its own for a proxy that refuses. */
const PROXY_ANSWER = /Proxy response \((\d{3})\)|Proxy Authentication Required \((\d{3})\)/;

/** A server may say how long it wants to be left alone; commands and settings of people do not wait for it longer than this. */
const MAX_RETRY_AFTER_MS = 5 * 60 * 1000;

/** Longest part of an answer's text that is kept for people. */
const MAX_TEXT_LENGTH = 300;

interface PlatformErrorDetails {
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cut?: boolean;
  readonly networkCode?: string | undefined;
  readonly proxyStatus?: number | undefined;
  readonly cause?: unknown;
}

export class PlatformError extends AgentError {
  readonly status: number | undefined;
  /** Wait that the server asked for with Retry-After. */
  readonly retryAfterMs: number | undefined;
  /** The exchange had begun, and was ended by time or by the network: a smaller one might have passed. */
  readonly cut: boolean;
  /** Code of the system, of TLS or of the HTTP client, when no answer came. */
  readonly networkCode: string | undefined;
  /** Status with which a proxy has refused the way to the platform. */
  readonly proxyStatus: number | undefined;
  /** Time for which a failed poll had stood, without its wait for a turn. */
  stoodMs: number | undefined;

  constructor(fault: PlatformFault, message: string, details: PlatformErrorDetails = {}) {
    const { status, retryAfterMs, cut = false, networkCode, proxyStatus, cause } = details;
    super(`platform/${fault}` satisfies ErrorCode, message, { recovery: RECOVERIES[fault], cause });
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.cut = cut;
    this.networkCode = networkCode;
    this.proxyStatus = proxyStatus;
  }
}

/** A fault of the connection, as `platform/busy`; its cause keeps name and code of the original, but no address and no token. */
export function networkError(error: unknown, secrets: readonly string[], host = 'the platform'): PlatformError {
  const code = systemCode(error) ?? systemCode(innerError(error));
  const said = safeText(error instanceof Error ? `${error.name}: ${error.message}` : String(error), secrets);
  const cause = new Error(`${code ?? 'no code'}: ${said}`);
  cause.stack = cause.message;
  const proxyStatus = PROXY_ANSWER.exec(said)?.slice(1).find(Boolean);
  // Without a code it is no fault of the network that anybody foresaw, so it speaks for itself.
  const words = code === undefined ? said : `${networkProblem(code, host)} (${code})`;
  return new PlatformError('busy', `cannot reach ${host}: ${words}`, {
    cause,
    cut: code !== undefined && CUT.has(code),
    networkCode: code,
    ...(proxyStatus !== undefined && { proxyStatus: Number(proxyStatus) }),
  });
}

/** How long to leave the platform alone after a fault of a call or a poll, as it asked for and within bounds; 0 when it did not. */
export function askedDelayMs(error: unknown): number {
  return error instanceof PlatformError ? Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0;
}

/** Text of others made fit for a log: no address, no secret, one line, cut. */
export function safeText(text: string, secrets: readonly string[]): string {
  if (text === '') return text;
  const safe = beginningWithoutSecrets(text, MAX_TEXT_LENGTH * 8, secretForms(secrets), '[token]')
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]*/gi, '[address]')
    .replace(/\/api\/v1\/[^\s/"'<>]+/g, '/api/v1/[token]')
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  return safe.length > MAX_TEXT_LENGTH ? `${safe.slice(0, MAX_TEXT_LENGTH)}…` : safe;
}

/** The first of several failed attempts (one per address of a name). */
function innerError(error: unknown): unknown {
  if (error instanceof AggregateError) return error.errors[0];
  return error instanceof Error ? error.cause : undefined;
}

/** Meaning of the platform's answers: the table of wire-facts.md ("Answers to an upload"), for uploads and for every other call. */
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../values/json.ts';
import type { UploadAnswer } from './device-api.ts';
import { DEEPEST_ANSWER, MAX_ANSWER_VALUES, type PayloadCodec } from './payload-codec.ts';
import { PlatformError, safeText } from './platform-error.ts';
import { mayPass, meaningOf } from './status-meaning.ts';

/** An answer as it came, its body bounded. */
export interface Answer {
  readonly status: number;
  /** Lower case, without parameters; '' when the server gave none. */
  readonly contentType: string;
  readonly retryAfter?: string;
  /** The server's own clock. */
  readonly date?: string;
  /** Target of a redirect, which is never followed. */
  readonly location?: string;
  readonly body: Uint8Array;
  /** The body was longer than allowed and is only its beginning. */
  readonly cut: boolean;
}

export type Verdict =
  | { readonly kind: 'done'; readonly value: JsonValue | undefined }
  | { readonly kind: 'not-understood'; readonly status: number; readonly text: string }
  | Exclude<UploadAnswer, { readonly kind: 'accepted' }>;

export interface JudgeDeps {
  readonly codec: PayloadCodec;
  /** Secrets that no text may show. */
  readonly secrets: readonly string[];
  readonly wallMs: number;
}

/** Nobody may put a device to sleep for longer than this. */
const MAX_RETRY_AFTER_MS = 60 * 60 * 1000;

/** Judges an answer by status, content type and body. */
export function judge(answer: Answer, deps: JudgeDeps): Verdict {
  const { status } = answer;
  const text = safeText(textOf(answer.body), deps.secrets);
  const meaning = meaningOf(status);
  if (meaning === 'done') return judgeSuccess(answer, text, deps);
  if (meaning === 'elsewhere' || meaning === 'portal') return { kind: 'portal', status };
  if (meaning === 'too-large') return { kind: 'too-large', status };
  if (meaning === 'bad-request') return isHtml(answer) ? { kind: 'portal', status } : { kind: 'refused', status, text };
  if (!mayPass(status)) return { kind: 'unauthorised', status, text };
  // The platform explains a bad payload in plain text or JSON; a page is a proxy's, and an empty 500 is how rate limits look.
  if (status === 500 && text !== '' && !isHtml(answer)) return { kind: 'refused', status, text };
  return { kind: 'busy' as const, status, text, retryAfterMs: retryAfterOf(answer, deps.wallMs) };
}

/** The verdict on an upload, for the uploader; an answer that cannot be understood did not come from the platform. */
export function uploadAnswer(verdict: Verdict): UploadAnswer {
  if (verdict.kind === 'done') return { kind: 'accepted' };
  return verdict.kind === 'not-understood' ? { kind: 'portal', status: verdict.status } : verdict;
}

/** The value of a successful answer, if it has one. @throws PlatformError for every other verdict; `what` says what was being done. */
export function expectValue(verdict: Verdict, what: string): JsonValue | undefined {
  if (verdict.kind === 'done') return verdict.value;
  const { status } = verdict;
  const said = 'text' in verdict && verdict.text !== '' ? `: ${verdict.text}` : '';
  const answered = `${what}: the platform answered ${status ?? 'nothing'}${said}`;
  switch (verdict.kind) {
    case 'busy':
      throw new PlatformError('busy', answered, { status, retryAfterMs: verdict.retryAfterMs });
    case 'portal':
      throw new PlatformError(
        'portal',
        `${what}: something other than the platform answered ${status}, a portal or a proxy`,
        { status },
      );
    case 'refused':
      throw new PlatformError('refused', answered, { status });
    case 'too-large':
      throw new PlatformError('too-large', `${what}: the platform takes no payload of this size`, { status });
    case 'not-understood':
      throw new PlatformError('bad-answer', `${what}: the answer makes no sense${said}`, { status });
    case 'unauthorised':
      throw new PlatformError(meaningOf(verdict.status) === 'not-there' ? 'not-found' : 'unauthorised', answered, {
        status,
      });
  }
}

/** Retry-After in ms: seconds, or a date, which is measured against the server's own clock when it tells it. */
export function retryAfterOf(answer: Pick<Answer, 'retryAfter' | 'date'>, wallMs: number): number | undefined {
  const given = answer.retryAfter?.trim();
  if (given === undefined || given === '') return undefined;
  if (/^\d+$/.test(given)) return Math.min(Number(given) * 1000, MAX_RETRY_AFTER_MS);
  const untilMs = Date.parse(given);
  if (Number.isNaN(untilMs)) return undefined;
  const serverMs = answer.date === undefined ? Number.NaN : Date.parse(answer.date);
  return Math.min(Math.max(untilMs - (Number.isNaN(serverMs) ? wallMs : serverMs), 0), MAX_RETRY_AFTER_MS);
}

function judgeSuccess(answer: Answer, text: string, deps: JudgeDeps): Verdict {
  const { status, body } = answer;
  if (isHtml(answer)) return { kind: 'portal', status };
  if (body.byteLength === 0) return { kind: 'done', value: undefined };
  if (answer.cut) return { kind: 'not-understood', status, text: 'it is too long' };
  try {
    return { kind: 'done', value: decodeBody(answer, deps.codec) };
  } catch {
    return { kind: 'not-understood', status, text };
  }
}

/** By the codec when the answer names its type; as JSON otherwise, which proxies and error pages of the platform use whatever was asked for. */
function decodeBody(answer: Answer, codec: PayloadCodec): JsonValue {
  if (answer.contentType === codec.contentType) return codec.decode(answer.body);
  return parseJson(textOf(answer.body), { depth: DEEPEST_ANSWER, values: MAX_ANSWER_VALUES });
}

function isHtml(answer: Answer): boolean {
  if (answer.contentType === 'text/html' || answer.contentType === 'application/xhtml+xml') return true;
  return textOf(answer.body.subarray(0, 64)).trimStart().startsWith('<');
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}

/** The object in an answer. @throws PlatformError `platform/bad-answer` (retry) when it is something else. */
export function expectObject(value: JsonValue | undefined, what: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new PlatformError('bad-answer', `${what}: the answer is no object`);
}

/** What the real server says of a request before it looks at the token: no body, a parameter missing or of another type. */
import type { Clock } from '../host/clock.ts';
import { jsonReply, type Reply } from './http-reply.ts';

export type JavaNumber = 'int' | 'long' | 'java.lang.Integer';

const BITS: Readonly<Record<JavaNumber, number>> = { int: 32, 'java.lang.Integer': 32, long: 64 };
const ERROR_CODE = 31;

export class RequestFault extends Error {
  readonly status: number;

  constructor(message: string, status = 400) {
    super(message);
    this.status = status;
  }
}

/** A request's fault as the real server words it. */
export function requestFaultReply({ message, status }: RequestFault, clock: Clock): Reply {
  return jsonReply({ message, errorCode: ERROR_CODE, status, timestamp: clock.wallMs() }, status);
}

export function missingBody(): RequestFault {
  return new RequestFault('Required request body is missing');
}

/** A whole number of a path or query; an empty one is `none`. @throws RequestFault for what is none, or past the type's bits. */
export function wholeNumberOf(text: string | null | undefined, name: string, type: JavaNumber, none = 0): number {
  if (text === null || text === undefined || text === '') return none;
  const isWhole = /^[+-]?\d+$/.test(text) && BigInt.asIntN(BITS[type], BigInt(text)) === BigInt(text);
  if (isWhole) return Number(text);
  throw new RequestFault(
    `Method parameter '${name}': Failed to convert value of type 'java.lang.String' to required type '${type}'; For input string: "${text}"`,
  );
}

/** @throws RequestFault when it is not given. */
export function requiredText(query: URLSearchParams, name: string): string {
  const text = query.get(name);
  if (text === null) throw new RequestFault(`Required request parameter '${name}' for method parameter type String is not present`);
  return text;
}

/** What a device replies: any text is taken, and only who asked finds out that it is no JSON (wire-facts.md, "Endpoints"). */
import { type JsonValue, parseJson } from '../host/json.ts';
import { readDocument } from './payload.ts';

/** A reply that is no JSON. */
export class RawReply {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const DEEPEST = 500;

export function replyIn(body: Buffer, contentType: string | undefined): JsonValue | RawReply {
  const text = body.toString('utf8');
  try {
    return contentType?.startsWith('application/cbor') === true ? readDocument(body, contentType) : parseJson(text, { depth: DEEPEST });
  } catch {
    return new RawReply(text);
  }
}

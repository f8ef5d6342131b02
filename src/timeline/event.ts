/** Events of the timeline: one plain sentence each, with the facts that it is made of. Everything in them is cut to a size. */
import type { Sentence } from '../errors/sentence.ts';
import { isSentence } from '../names/sentences.ts';
import { type JsonObject, type JsonValue, stringifyJson } from '../values/json.ts';
import { isKind, type TimelineKind } from './kinds.ts';

/** Facts of an event that are text. */
const TEXTS = ['actuator', 'sensor', 'key', 'device', 'by', 'boot'] as const;

type Texts = { readonly [name in (typeof TEXTS)[number]]?: string | undefined };

/** An event as a room tells it. */
export interface ToldEvent extends Texts {
  readonly kind: TimelineKind;
  /** One sentence for a person. */
  readonly words: string;
  /** The same, of which a door makes words in its own language. */
  readonly sentence?: Sentence | undefined;
  /** Value after it, and value before it. */
  readonly value?: JsonValue | undefined;
  readonly from?: JsonValue | undefined;
}

export interface TimelineEvent extends ToldEvent {
  /** Counts up by one, over restarts as well. */
  readonly seq: number;
  /** UTC epoch ms. */
  readonly ts: number;
  /** Present while the clock was not known to be right. */
  readonly unsure?: true;
}

const MAX_WORDS = 300;
const MAX_TEXT = 120;
/** Length of the JSON of a sentence: a longer one is told in English alone. */
const MAX_SENTENCE = 600;

/** The event cut to size, each text passed through `redact` before it is cut. */
export function boundedEvent<E extends ToldEvent>(event: E, redact: (text: string) => string): E {
  const cut = (text: string | undefined, length = MAX_TEXT): string | undefined =>
    text === undefined ? undefined : shortened(redact(text), length);
  const value = (one: JsonValue | undefined): JsonValue | undefined =>
    typeof one === 'string' ? cut(one) : isPlain(one) ? one : undefined;
  const texts = Object.fromEntries(TEXTS.map((name) => [name, cut(event[name])]));
  return {
    ...event,
    words: cut(event.words, MAX_WORDS),
    sentence: isWhole(event, redact) ? event.sentence : undefined,
    ...texts,
    value: value(event.value),
    from: value(event.from),
  } as E;
}

/** The event of a line that was kept; undefined for what is none. */
export function eventOf(json: JsonObject): TimelineEvent | undefined {
  const { seq, ts, kind, words, sentence, unsure, value, from } = json;
  if (!isCount(seq) || typeof ts !== 'number' || !isKind(kind) || typeof words !== 'string') return undefined;
  const texts = Object.fromEntries(
    TEXTS.flatMap((name) => (typeof json[name] === 'string' ? [[name, json[name]]] : [])),
  );
  return {
    seq,
    ts,
    unsure: unsure === true ? (true as const) : undefined,
    kind,
    words,
    sentence: isSentence(sentence) ? sentence : undefined,
    ...texts,
    value,
    from,
  };
}

/** The event as JSON: without members that are undefined. */
export function eventJson(event: TimelineEvent): JsonObject {
  const { seq, ts, ...rest } = event;
  return { seq, ts, ...rest } as JsonObject;
}

/** A sentence with a secret in it, or one that is too long, goes as a whole. */
function isWhole({ words, sentence }: ToldEvent, redact: (text: string) => string): boolean {
  if (sentence === undefined || words.length > MAX_WORDS) return false;
  const text = stringifyJson(sentence);
  return text.length <= MAX_SENTENCE && redact(text) === text && redact(words) === words;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

function isPlain(value: JsonValue | undefined): boolean {
  return value === null || ['boolean', 'number', 'bigint'].includes(typeof value);
}

function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/**
 * A sentence of the agent for people: its id, and the values that it is made of. A door makes words of it in its own language: the terminal,
 * the log and the answers to programs by `names/sentences.ts`, the page by `pages/shared/sentences-de.js`.
 */
/** A sentence among the values is made into words of the same language; its place may hold English text as well. */
export type Sentence = {
  readonly id: string;
  readonly values: SentenceValues;
};

export type SentenceValues = { readonly [name: string]: SentenceValue | undefined };
export type SentenceValue = string | number | bigint | boolean | null | SentenceValues | readonly SentenceValue[];

/** A sentence; or English text, such as the message of a system. */
export type Told = Sentence | string;

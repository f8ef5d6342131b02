/** What is wrong with a payload, as far as the platform says so. */

/** A payload that the platform answers with 500 and this text; without a word where it is `silent`. */
export class PayloadFault extends Error {
  readonly silent: boolean;

  constructor(message: string, { silent = false }: { readonly silent?: boolean } = {}) {
    super(message);
    this.silent = silent;
  }
}

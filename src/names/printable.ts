/** Text from elsewhere, made harmless for a terminal and a page. */

/** Removes from a text from elsewhere all that could control a terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (character) => (character === '\n' || character === '\t' ? ' ' : '�'));
}

/** NaN and Infinity, which Python's json writes and which are no JSON. */

const NO_JSON_NUMBER = /NaN|Infinity/;
const STRING_OR_NO_NUMBER = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g;

/** Returns JSON with null in their place. */
export function withoutNoNumbers(json: string): string {
  return NO_JSON_NUMBER.test(json)
    ? json.replace(STRING_OR_NO_NUMBER, (found) => (found.startsWith('"') ? found : 'null'))
    : json;
}

/** Lines that twins print for the patterns of a configuration. */

/** A line that a simple pattern takes, with its groups as places for values: `^T=(?<t>[\d.]+)\s+C` → `T={t} C`. */
export function textLike(pattern: string): string {
  return pattern
    .replace(/^\^|\$$/g, '')
    .replace(/\(\?<([^=!>]+)>(?:[^()\\]|\\.)*\)/g, '{$1}')
    .replace(/(?:\\s|\\b|\.| )[*+?]?/g, ' ')
    .replace(/\\(.)/g, '$1')
    .replace(/[()?*+|[\]^$]/g, '');
}

/** Release versions: what may be one (it becomes a folder name that root creates), and which of two is newer. */

/** Begins with a letter or digit, so that `.` and `..` are none. */
const VERSION = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/;

export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/**
 * Negative when `a` is older than `b`, 0 when neither is newer. Semantic versioning's order (section 11): numbers by value, a
 * pre-release before its release, what follows a plus sign does not count. A leading `v` does not count either. Ours, as the `semver`
 * package refuses what else a package may be called, `1.2` or `2026-05` among it.
 */
export function compareVersions(a: string, b: string): number {
  const left = partsOf(a);
  const right = partsOf(b);
  return compareLists(left.release, right.release) || comparePreReleases(left.preRelease, right.preRelease);
}

function partsOf(version: string): { release: readonly string[]; preRelease: readonly string[] } {
  const plain = version.replace(/^v(?=\d)/, '').split('+', 1)[0] ?? '';
  const dash = plain.indexOf('-');
  if (dash < 0) return { release: plain.split('.'), preRelease: [] };
  return { release: plain.slice(0, dash).split('.'), preRelease: plain.slice(dash + 1).split('.') };
}

function comparePreReleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return Number(a.length === 0) - Number(b.length === 0);
  return compareLists(a, b);
}

/** A missing part counts as 0 before a number and as less before a word. */
function compareLists(a: readonly string[], b: readonly string[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const order = compareParts(a[at], b[at]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareParts(a: string | undefined, b: string | undefined): number {
  const left = numberOf(a ?? '0');
  const right = numberOf(b ?? '0');
  if (left !== undefined && right !== undefined) return left < right ? -1 : Number(left > right);
  if (a === undefined || b === undefined) return Number(b === undefined) - Number(a === undefined);
  if (left !== undefined || right !== undefined) return left !== undefined ? -1 : 1;
  return a < b ? -1 : Number(a > b);
}

function numberOf(part: string): bigint | undefined {
  return /^\d+$/.test(part) ? BigInt(part) : undefined;
}

/** Release versions: what may be one (it becomes a folder name that root creates), and which of two is newer. */

/** Begins with a letter or digit, so that `.` and `..` are none. */
const VERSION = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/;

export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/**
 * Negative when `a` is older than `b`, 0 when neither is newer. Semantic versioning's order (section 11): numbers by value, a
 * pre-release before its release, what follows a plus sign does not count. A leading `v` does not count either. Ours, as the packages
 * `semver` and `compare-versions` refuse what else a release may be called, `2026-05` or `1.2-rc` among it.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  const order =
    compareLists(left.release, right.release) ||
    Number(left.preRelease === undefined) - Number(right.preRelease === undefined);
  return order || compareLists(left.preRelease ?? [], right.preRelease ?? []);
}

function partsOf(version: string): {
  readonly release: readonly string[];
  readonly preRelease: readonly string[] | undefined;
} {
  const [, release = '', preRelease] = /^(?:v(?=\d))?([^+-]*)(?:-([^+]*))?/.exec(version) ?? [];
  return { release: release.split('.'), preRelease: preRelease?.split('.') };
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

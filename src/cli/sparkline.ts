/** A curve in one line of text. */

const BLOCKS = '▁▂▃▄▅▆▇█';

/** One block for each number, from the least to the greatest of them; a flat curve lies at the bottom. */
export function sparkline(values: readonly number[]): string {
  const least = Math.min(...values);
  const range = Math.max(...values) - least;
  return values.map((value) => BLOCKS[range === 0 ? 0 : Math.round(((value - least) / range) * (BLOCKS.length - 1))] ?? '').join('');
}

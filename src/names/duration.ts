/** A duration in words of the configuration: `90s`, `1h30m`. */

export const MS_OF: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration as a person would write it, for messages: 90000 → `1m30s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  let rest = ms;
  let text = '';
  for (const [unit, size] of Object.entries(MS_OF).reverse()) {
    const count = unit === 'ms' ? rest : Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text;
}

/** Whole seconds, and past an hour whole minutes. */
export function spanWords(ms: number): string {
  const step = ms >= 3_600_000 ? 60_000 : 1_000;
  return formatDuration(Math.max(step, Math.round(ms / step) * step));
}

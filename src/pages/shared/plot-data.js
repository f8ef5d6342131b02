/** Values of one key as a plot needs them: gaps, periods beyond a limit, periods of a switch, and several keys on one axis of time. */

const LEAST_LIMIT_MS = 120_000;

/** An old span has a least and a greatest value for each part of time: their middle is the line. */
export function columnsOf([times = [], least = [], greatest]) {
  if (greatest === undefined) {
    const values = [...least];
    return { times: [...times], least: values, greatest: values, middle: values, isBand: false };
  }
  const middle = least.map((value, at) => (value + greatest[at]) / 2);
  return { times: [...times], least: [...least], greatest: [...greatest], middle, isBand: true };
}

export function appendValue({ times, least, greatest, middle }, ts, value) {
  times.push(ts);
  for (const list of new Set([least, greatest, middle])) list.push(value);
}

/** Forgets what lies before the picture, but for one value to its left. */
export function dropBefore({ times, least, greatest, middle }, fromMs) {
  const count = Math.max(0, times.findIndex((ts) => ts >= fromMs) - 1);
  for (const list of new Set([times, least, greatest, middle])) list.splice(0, count);
}

/** Longest time between two values that a line goes across. `partMs` is the time that the agent makes one value of. */
export function gapLimit(times, maxGapMs = LEAST_LIMIT_MS, partMs = 0) {
  const distances = times
    .slice(1)
    .map((ts, at) => ts - times[at])
    .sort((a, b) => a - b);
  return Math.max(3 * (distances[Math.floor(distances.length / 2)] ?? 0), maxGapMs, 2 * partMs);
}

/** Several keys on one axis of time: null where a line ends at a gap, undefined where only another key has a value. */
export function alignLines(lines) {
  const sets = lines.map(({ columns: { times }, limitMs }) => ({
    at: new Map(times.map((ts, index) => [ts, index])),
    holes: new Set(
      times.flatMap((ts, index) => (index > 0 && ts - times[index - 1] > limitMs ? [(ts + times[index - 1]) / 2] : [])),
    ),
  }));
  const all = [...new Set(sets.flatMap(({ at, holes }) => [...at.keys(), ...holes]))].sort((a, b) => a - b);
  const rows = lines.map(({ columns }, number) => {
    const { at, holes } = sets[number];
    const places = all.map((ts) => at.get(ts) ?? (holes.has(ts) ? null : undefined));
    const pick = (list) => places.map((place) => (typeof place === 'number' ? list[place] : place));
    return {
      middle: pick(columns.middle),
      ...(columns.isBand ? { least: pick(columns.least), greatest: pick(columns.greatest) } : {}),
    };
  });
  return { times: all, rows };
}

/** Place of the value that is nearest in time; undefined further than `limitMs` from each. */
export function nearestAt(times, ts, limitMs = Number.POSITIVE_INFINITY) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const mid = (low + high) >> 1;
    if (times[mid] < ts) low = mid + 1;
    else high = mid;
  }
  const before = low > 0 && (low === times.length || ts - times[low - 1] <= times[low] - ts) ? low - 1 : low;
  return Math.abs((times[before] ?? Number.NaN) - ts) <= limitMs ? before : undefined;
}

/** Periods beyond a threshold, by the agent's own rule; a gap ends one, and the last may still go on. */
export function periodsBeyond({ times, least, greatest }, { above, below, hysteresis = 0 }, limitMs) {
  const periods = [];
  let sinceMs;
  times.forEach((ts, at) => {
    const isHole = at > 0 && ts - times[at - 1] > limitMs;
    const slack = sinceMs === undefined ? 0 : hysteresis;
    const isBeyond = above === undefined ? least[at] < below + slack : greatest[at] > above - slack;
    if (sinceMs !== undefined && (isHole || !isBeyond)) {
      periods.push({ fromMs: sinceMs, toMs: isHole ? times[at - 1] : ts, isOpen: false });
      sinceMs = undefined;
    }
    if (isBeyond) sinceMs ??= ts;
  });
  if (sinceMs !== undefined) periods.push({ fromMs: sinceMs, toMs: times.at(-1), isOpen: true });
  return periods;
}

/** Periods of a switch: 1 is on, 0 is off, 0.5 is both within one part of an old span. */
export function periodsOfSwitch({ times, middle }, limitMs) {
  const periods = [];
  times.forEach((ts, at) => {
    const last = periods.at(-1);
    const isHole = at > 0 && ts - times[at - 1] > limitMs;
    if (last !== undefined && !isHole) last.toMs = ts;
    if (last === undefined || isHole || last.value !== middle[at])
      periods.push({ fromMs: ts, toMs: ts, value: middle[at] });
  });
  return periods;
}

/** The least and the greatest without spreading a long list over the stack; undefined of nothing. */
export function extremes({ least, greatest }) {
  if (least.length === 0) return undefined;
  return {
    least: least.reduce((a, b) => Math.min(a, b)),
    greatest: greatest.reduce((a, b) => Math.max(a, b)),
  };
}

/** The sensor dashboard: one chart for each unit, with all keys that are measured in it. */
import { nameText } from '../../names/shown-text.ts';
import type { JsonObject } from '../../values/json.ts';
import { COLUMNS, chart, type DataKey, dashboard, deviceTable } from './dashboard-parts.ts';
import type { Labels } from './labels.ts';
import type { Units } from './units.ts';

/** More curves than this in one chart are not told apart; those of a unit past it go into another chart. */
const MAX_KEYS_PER_CHART = 8;
const MAX_CHARTS = 40;
const MAX_TABLE_KEYS = 6;
const CHART = { width: COLUMNS / 2, height: 6 };

/** @param labels of keys; one without is shown in words. */
export function sensorDashboard(profile: string, units: Units, labels: Labels): JsonObject {
  const charts = chartsOf(units, labels).slice(0, MAX_CHARTS);
  const inTable = charts.flatMap(({ keys }) => keys.slice(0, 1)).slice(0, MAX_TABLE_KEYS);
  return dashboard({
    title: `${profile}: sensors`,
    deviceType: profile,
    all: [
      deviceTable('sensors', 'Devices', { row: 0, col: 0, width: COLUMNS, height: 12 }, [
        { key: 'active', label: 'In contact', type: 'attribute' },
        ...inTable,
      ]),
    ],
    one: charts.map(({ title, keys }, at) =>
      chart(
        `chart ${title}`,
        title,
        { row: Math.floor(at / 2) * CHART.height, col: (at % 2) * CHART.width, ...CHART },
        keys,
      ),
    ),
  });
}

/** In the order of the units' first keys. */
function chartsOf(
  units: Units,
  labels: Labels,
): readonly { readonly title: string; readonly keys: readonly DataKey[] }[] {
  const byUnit = Map.groupBy([...units], ([, unit]) => unit ?? '');
  return [...byUnit]
    .filter(([unit]) => unit !== '')
    .flatMap(([unit, entries]) => {
      const keys = entries.map(([key]) => ({ key, label: nameText({ key, label: labels.get(key) }), unit }));
      const count = Math.ceil(keys.length / MAX_KEYS_PER_CHART);
      return Array.from({ length: count }, (_, at) => ({
        title: count === 1 ? `In ${unit}` : `In ${unit} (${at + 1} of ${count})`,
        keys: keys.slice(at * MAX_KEYS_PER_CHART, (at + 1) * MAX_KEYS_PER_CHART),
      }));
    });
}

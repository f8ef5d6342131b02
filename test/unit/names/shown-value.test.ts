/** Values as people read them, by class and unit; the same table holds for the terminal, and its parts for the page. */
import { expect, it } from 'vitest';
import { shownText } from '../../../src/names/shown-text.ts';
import { CLASSES, classOf, measuredClass } from '../../../src/pages/names/classes.js';
import { ICONS } from '../../../src/pages/names/icons.js';
import type { JsonValue } from '../../../src/values/json.ts';

it.each<[JsonValue, string | undefined, string | undefined, string]>([
  [21.1875, '°C', undefined, '21.2 °C'],
  [21, '°C', undefined, '21.0 °C'],
  [-0.04, '°C', undefined, '0.0 °C'],
  [45.26, '%', 'humidity', '45.3 %'],
  [45.26, '%', undefined, '45 %'],
  [65_300_000_000, 'By', undefined, '65.3 GB'],
  [65_300_000_000, 'B', undefined, '65.3 GB'],
  [999, 'B', undefined, '999 B'],
  [1_234, 'W', undefined, '1.23 kW'],
  [-1_234, 'W', undefined, '-1.23 kW'],
  [999.7, 'W', undefined, '1 kW'],
  [999.4, 'W', undefined, '999 W'],
  [12.345, 'W', undefined, '12.3 W'],
  [5, 'W', undefined, '5 W'],
  [0.0123, 'W', undefined, '0.0123 W'],
  [0.5, 'kW', undefined, '0.5 kW'],
  [1_500, 'kW', undefined, '1.5 MW'],
  [12_731.44, 'kWh', undefined, '12731.4 kWh'],
  [1_200, 'Wh', undefined, '1.2 kWh'],
  [230.04, 'V', undefined, '230 V'],
  [3.712, 'V', undefined, '3.712 V'],
  [49.98, 'Hz', undefined, '49.98 Hz'],
  [3_900, 's', undefined, '1 h 5 min'],
  [59.9, 's', undefined, '59.9 s'],
  [60, 's', undefined, '1 min'],
  [119.9, 's', undefined, '2 min'],
  [86_399, 's', undefined, '1 d'],
  [-3_900, 's', undefined, '-1 h 5 min'],
  [250, 'ms', undefined, '250 ms'],
  [90_000, 'ms', undefined, '1 min 30 s'],
  [75, 'min', undefined, '1 h 15 min'],
  [1_234.56, 'h', undefined, '1234.6 h'],
  [0, 's', undefined, '0 s'],
  [48.137_154_3, '°', 'coordinate', '48.13715 °'],
  [2.34, '%', 'harmonic_distortion', '2.3 %'],
  [true, undefined, 'door', 'open'],
  [false, undefined, 'leak', 'dry'],
  [1, undefined, 'pump', '1'],
  [1, undefined, 'running', 'running'],
  [0, undefined, 'door', 'closed'],
  [2, undefined, 'door', '2'],
  [true, undefined, undefined, 'on'],
  [false, undefined, 'my_own', 'off'],
  [null, '°C', undefined, 'unknown'],
  [2.345_678_91, 'furlong', undefined, '2.34568 furlong'],
  [12_345_678.9, undefined, undefined, '12345679'],
  [3e-9, undefined, undefined, '3e-9'],
  [123_456_789, undefined, undefined, '123456789'],
  [9_007_199_254_740_993n, 'W', undefined, '9007199254740993 W'],
  ['charging', undefined, 'battery', 'charging'],
  [{ a: [1, 2n] }, undefined, undefined, '{"a":[1,"2"]}'],
])('shows %s %s of class %s as %s', (value, unit, name, text) => {
  expect(shownText(value, { unit, class: name })).toBe(text);
});

it.each([
  ['humidity', '%', 'humidity'],
  ['soilMoisture', '%', 'moisture'],
  ['batterySoc', '%', 'battery'],
  ['tankLevel', '%', 'level'],
  ['fanSpeedSupply', '%', 'percent'],
  ['temperatureDifference', 'K', 'temperature_difference'],
  ['co2', 'ppm', 'carbon_dioxide'],
  ['tvoc', 'ppm', undefined],
  ['windSpeed', 'm/s', 'wind_speed'],
  ['powerFactorL1', undefined, 'power_factor'],
  ['relay1', undefined, undefined],
  ['latitude', '°', 'coordinate'],
  ['phaseAngleL1', '°', 'angle'],
  ['voltageThdL1', '%', 'harmonic_distortion'],
  ['rainRate', 'mm/h', 'precipitation'],
  ['constructor', 'constructor', undefined],
])('takes the class of %s in %s as %s', (key, unit, name) => {
  expect(measuredClass(key, unit)).toBe(name);
});

it('has a word for every class that is neither a number nor asks for nothing', () => {
  for (const [name, known] of Object.entries(CLASSES)) {
    expect(name).toMatch(/^[a-z][a-z0-9_]{0,31}$/);
    expect([name, known.states === undefined]).toEqual([name, known.plot === 'line']);
    if (known.states === undefined)
      expect([name, known.decimals ?? known.significant]).toEqual([name, expect.any(Number)]);
  }
  expect(Object.keys(CLASSES).filter((name) => classOf(name)?.asksFirst === true)).toEqual([
    ...['pump', 'valve', 'heater', 'siren', 'lock'],
  ]);
  expect([classOf('constructor'), classOf(undefined)]).toEqual([undefined, undefined]);
});

it('has an icon for each class, and none that no class has', () => {
  const used = new Set([...Object.values(CLASSES).map(({ icon }) => icon)]);
  expect([...used].filter((icon) => ICONS[icon] === undefined)).toEqual([]);
  expect(Object.keys(ICONS).filter((icon) => !used.has(icon))).toEqual([]);
});

it.each<[JsonValue, object, object, string]>([
  [5.04, { above: 5 }, { unit: '°C' }, '5.04 °C'],
  [5.4, { above: 5 }, { unit: '°C' }, '5.4 °C'],
  [4.96, { above: 5 }, { unit: '°C' }, '4.96 °C'],
  [5.041, { above: 5.04 }, { unit: '°C' }, '5.041 °C'],
  [4.999_9, { below: 5 }, { unit: '°C' }, '4.9999 °C'],
  [5, { above: 5 }, { unit: '°C' }, '5.0 °C'],
  [5.000_000_001, { above: 5 }, { unit: '°C' }, '5.000000 °C'],
  [1_001, { above: 1_000 }, { unit: 'W' }, '1.001 kW'],
  [1_100, { above: 1_000 }, { unit: 'W' }, '1.1 kW'],
  [3_601, { above: 3_600 }, { unit: 's' }, '3601 s'],
  [3_700, { above: 3_600 }, { unit: 's' }, '1 h 2 min'],
  [2_000_000.4, { above: 2_000_000 }, {}, '2000000.4'],
  [0.2, { above: 0 }, { unit: '%' }, '0.2 %'],
  [true, { above: 5 }, { class: 'door' }, 'open'],
  [5.04, {}, { unit: '°C' }, '5.0 °C'],
])('shows %s of an alarm %s as %s', (value, limit, of, text) => {
  expect(shownText(value, { ...of, ...limit })).toBe(text);
});

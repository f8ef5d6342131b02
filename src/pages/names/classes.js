// @ts-check
/**
 * Classes of values and outputs, after the device classes of Home Assistant: the words of a state, the digits, the scaling of the unit, the plot,
 * the icon, and the question before an output is switched. Browsers and the agent read this one file.
 */

/**
 * Word of a state, in English; a page has it in its own language.
 * @typedef {'on' | 'off' | 'open' | 'closed' | 'wet' | 'dry' | 'running' | 'stopped' | 'detected' | 'clear' | 'occupied' | 'free' | 'low' |
 *   'normal' | 'problem' | 'fine' | 'connected' | 'disconnected' | 'unlocked' | 'locked' | 'heating' | 'cooling' | 'idle'} StateWord
 */

/**
 * @typedef {object} Class
 * @property {readonly [StateWord, StateWord]} [states] Words for true and false; without them `on` and `off`.
 * @property {number} [decimals] Decimal places.
 * @property {number} [significant] Significant digits, where a value may be tiny or huge; digits before the point are never cut.
 * @property {'thousands' | 'energy' | 'time'} [scaling] `thousands`: 1234 W becomes 1.23 kW; `energy`: the same up to kWh, the unit of bills;
 *   `time`: 3900 s becomes 1 h 5 min. Without it a unit stays as it is.
 * @property {'line' | 'steps'} plot `steps` for states, which hold until the next one.
 * @property {string} icon
 * @property {true} [moves] A class of outputs, whose numbers are settings and no states.
 * @property {true} [asksFirst] A person is asked before an output of this class is switched.
 */

/** @type {(icon: string, decimals: number) => Class} */
const fixed = (icon, decimals) => ({ icon, decimals, plot: 'line' });
/** @type {(icon: string, scaling?: Class['scaling']) => Class} */
const scaled = (icon, scaling) => ({ icon, significant: 3, scaling, plot: 'line' });
/** @type {(icon: string, states: readonly [StateWord, StateWord]) => Class} */
const state = (icon, states) => ({ icon, states, plot: 'steps' });
/** @type {(icon: string, states: readonly [StateWord, StateWord]) => Class} */
const moved = (icon, states) => ({ icon, states, plot: 'steps', moves: true });
/** @type {(icon: string, states: readonly [StateWord, StateWord]) => Class} */
const asked = (icon, states) => ({ icon, states, plot: 'steps', moves: true, asksFirst: true });

/** @type {readonly [StateWord, StateWord]} */
const OPEN = ['open', 'closed'];
/** @type {readonly [StateWord, StateWord]} */
const DETECTED = ['detected', 'clear'];
/** @type {readonly [StateWord, StateWord]} */
const RUNNING = ['running', 'stopped'];
/** @type {readonly [StateWord, StateWord]} */
const ON = ['on', 'off'];

/** @type {Readonly<Record<string, Class>>} */
export const CLASSES = {
  // States of a place or a thing; true is the first word.
  door: state('door', OPEN),
  garage_door: state('garage', OPEN),
  window: state('window', OPEN),
  motion: state('motion', DETECTED),
  occupancy: state('person', ['occupied', 'free']),
  presence: state('person', DETECTED),
  leak: state('drop', ['wet', 'dry']),
  smoke: state('smoke', DETECTED),
  gas: state('gas', DETECTED),
  carbon_monoxide: state('gas', DETECTED),
  tamper: state('shield', DETECTED),
  vibration: state('vibration', DETECTED),
  sound: state('sound', DETECTED),
  battery_low: state('battery', ['low', 'normal']),
  running: state('motor', RUNNING),
  problem: state('warning', ['problem', 'fine']),
  connectivity: state('link', ['connected', 'disconnected']),
  // Measurements.
  temperature: fixed('thermometer', 1),
  temperature_difference: fixed('thermometer', 1),
  humidity: fixed('humidity', 1),
  moisture: fixed('drop', 0),
  pressure: scaled('gauge'),
  atmospheric_pressure: fixed('gauge', 1),
  illuminance: fixed('sun', 0),
  irradiance: fixed('sun', 0),
  carbon_dioxide: fixed('air', 0),
  pm1: fixed('air', 0),
  pm25: fixed('air', 0),
  pm10: fixed('air', 0),
  power: scaled('bolt', 'thousands'),
  apparent_power: scaled('bolt', 'thousands'),
  reactive_power: scaled('bolt', 'thousands'),
  energy: { icon: 'meter', decimals: 1, scaling: 'energy', plot: 'line' },
  voltage: { icon: 'voltage', significant: 4, scaling: 'thousands', plot: 'line' },
  current: scaled('current', 'thousands'),
  frequency: { icon: 'wave', decimals: 2, scaling: 'thousands', plot: 'line' },
  power_factor: fixed('angle', 2),
  harmonic_distortion: fixed('wave', 1),
  angle: fixed('angle', 0),
  battery: fixed('battery', 0),
  level: fixed('level', 0),
  distance: scaled('ruler'),
  // The fifth place is a metre.
  coordinate: fixed('ruler', 5),
  volume: { icon: 'drop', significant: 4, plot: 'line' },
  flow: scaled('flow'),
  weight: scaled('weight'),
  speed: scaled('speed'),
  wind_speed: fixed('wind', 1),
  wind_direction: fixed('wind', 0),
  rotation: fixed('motor', 0),
  precipitation: fixed('rain', 1),
  ph: fixed('flask', 2),
  duration: scaled('clock', 'time'),
  operating_hours: fixed('clock', 1),
  data_size: scaled('disk', 'thousands'),
  data_rate: scaled('network', 'thousands'),
  signal_strength: fixed('signal', 0),
  percent: fixed('percent', 0),
  count: fixed('count', 0),
  // Outputs.
  pump: asked('pump', RUNNING),
  fan: moved('fan', RUNNING),
  light: moved('light', ON),
  valve: asked('valve', OPEN),
  heater: asked('heater', ['heating', 'idle']),
  cooler: moved('cooler', ['cooling', 'idle']),
  switch: moved('switch', ON),
  socket: moved('socket', ON),
  siren: asked('siren', ON),
  lock: asked('lock', ['unlocked', 'locked']),
  cover: moved('cover', OPEN),
};

/** Returns what is known of a class; undefined for none, and for a word of a user's own. @type {(name: string | undefined) => Class | undefined} */
export function classOf(name) {
  return name !== undefined && Object.hasOwn(CLASSES, name) ? CLASSES[name] : undefined;
}

/** By unit, where one unit says it. @type {Readonly<Record<string, string>>} */
const OF_UNIT = {
  '°C': 'temperature',
  '°F': 'temperature',
  K: 'temperature_difference',
  '% RH': 'humidity',
  '%RH': 'humidity',
  hPa: 'atmospheric_pressure',
  mbar: 'atmospheric_pressure',
  Pa: 'pressure',
  kPa: 'pressure',
  bar: 'pressure',
  lx: 'illuminance',
  'W/m²': 'irradiance',
  'µg/m³': 'pm25',
  W: 'power',
  kW: 'power',
  MW: 'power',
  VA: 'apparent_power',
  kVA: 'apparent_power',
  var: 'reactive_power',
  kvar: 'reactive_power',
  Wh: 'energy',
  kWh: 'energy',
  MWh: 'energy',
  varh: 'energy',
  kvarh: 'energy',
  kVAh: 'energy',
  V: 'voltage',
  mV: 'voltage',
  kV: 'voltage',
  A: 'current',
  mA: 'current',
  kA: 'current',
  Hz: 'frequency',
  kHz: 'frequency',
  'mm/h': 'precipitation',
  mm: 'distance',
  cm: 'distance',
  m: 'distance',
  km: 'distance',
  l: 'volume',
  L: 'volume',
  'm³': 'volume',
  'l/min': 'flow',
  'L/min': 'flow',
  'l/h': 'flow',
  'm³/h': 'flow',
  'kg/h': 'flow',
  g: 'weight',
  kg: 'weight',
  t: 'weight',
  'm/s': 'speed',
  'km/h': 'speed',
  kn: 'speed',
  rpm: 'rotation',
  '1/min': 'rotation',
  ms: 'duration',
  s: 'duration',
  min: 'duration',
  h: 'operating_hours',
  '°': 'angle',
  By: 'data_size',
  B: 'data_size',
  kB: 'data_size',
  MB: 'data_size',
  GB: 'data_size',
  'B/s': 'data_rate',
  'kB/s': 'data_rate',
  'bit/s': 'data_rate',
  'kbit/s': 'data_rate',
  'Mbit/s': 'data_rate',
  dBm: 'signal_strength',
  '%': 'percent',
};

/** Units of several classes, told apart by a word in the key. @type {Readonly<Record<string, readonly (readonly [RegExp, string])[]>>} */
const BY_KEY = {
  '%': [
    [/(?:^|[^a-z])(?:soil)?moisture/i, 'moisture'],
    [/humidity/i, 'humidity'],
    [/battery|Soc$|soh$/i, 'battery'],
    [/level/i, 'level'],
    [/thd/i, 'harmonic_distortion'],
  ],
  ppm: [[/co2|carbonDioxide/i, 'carbon_dioxide']],
  mm: [[/rain|precipitation/i, 'precipitation']],
  'm/s': [[/wind/i, 'wind_speed']],
  'km/h': [[/wind/i, 'wind_speed']],
  '°': [
    [/wind/i, 'wind_direction'],
    [/latitude|longitude/i, 'coordinate'],
  ],
  'µg/m³': [
    [/pm1$/i, 'pm1'],
    [/pm10$/i, 'pm10'],
  ],
  '°C': [[/difference/i, 'temperature_difference']],
};

/** Keys of meters that have no unit. */
const POWER_FACTOR = /^powerFactor(?:L[123]|Total)?$/;

/**
 * Returns the class of a measurement by its key and unit, as the kinds, models and presets give them; undefined where these do not tell it.
 * @type {(key: string, unit: string | undefined) => string | undefined}
 */
export function measuredClass(key, unit = '') {
  const found = Object.hasOwn(BY_KEY, unit) ? BY_KEY[unit]?.find(([word]) => word.test(key)) : undefined;
  if (found !== undefined) return found[1];
  if (Object.hasOwn(OF_UNIT, unit)) return OF_UNIT[unit];
  return unit === '' && POWER_FACTOR.test(key) ? 'power_factor' : undefined;
}

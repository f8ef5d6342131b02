/** How long a chip converts, by its settings, from the sheets that its driver names: the driver waits for it, and no read can take less. */

/** The longest measurement of each mode (technical note of the BH1750FVI, page 2). */
export const BH1750_MS = { high: 180, high2: 180, low: 24 } as const;
/** The longest measurement of each repeatability (SHT3x-DIS, table 4). */
export const SHT3X_MS = { high: 15.5, medium: 6.5, low: 4.5 } as const;
/** Two conversions of 586 µs at most (INA219, section 6.5). */
export const INA219_MS = 1.2;
/** The oscillator of the ADS1115 is good for 10 % (section 7.5). */
const ADS1115_SLOWEST = 1.1;

/** The settings that a read's time hangs on, whatever the kind. */
export interface ReadSettings {
  readonly kind: string;
  readonly gateMs?: number;
  readonly mode?: keyof typeof BH1750_MS;
  readonly repeatability?: keyof typeof SHT3X_MS;
  readonly samplesPerSecond?: number;
  readonly channels?: Readonly<Record<string, unknown>>;
  readonly oversampling?: Oversampling;
}

interface Oversampling {
  readonly temperature: number;
  readonly pressure: number;
  readonly humidity: number;
}

/** What is not said here asks for no wait, or somebody else knows for how long: the kernel for a DS18B20. */
export function leastReadMs({ kind, ...settings }: ReadSettings): number {
  const { mode, repeatability, samplesPerSecond, channels = {}, oversampling } = settings;
  if (kind === 'gpio-frequency') return settings.gateMs ?? 0;
  if (kind === 'bh1750' && mode !== undefined) return BH1750_MS[mode];
  if (kind === 'sht3x' && repeatability !== undefined) return SHT3X_MS[repeatability];
  if (kind === 'ina219') return INA219_MS;
  if (kind === 'ads1115' && samplesPerSecond !== undefined) return ads1115Ms(samplesPerSecond) * Object.keys(channels).length;
  return oversampling === undefined ? 0 : boschMs(kind, oversampling);
}

/** One conversion. */
export function ads1115Ms(samplesPerSecond: number): number {
  return (1_000 * ADS1115_SLOWEST) / samplesPerSecond;
}

/** BME280 and BMP280, at most (DS002, appendix B, section 9.1). */
export function boschMs(kind: string, { temperature, pressure, humidity }: Oversampling): number {
  return 1.25 + 2.3 * temperature + 2.3 * pressure + 0.575 + (kind === 'bme280' ? 2.3 * humidity + 0.575 : 0);
}

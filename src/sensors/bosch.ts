/**
 * BME280 and BMP280 on an I2C bus: one forced measurement a read, so that the chip sleeps in between and heats itself least.
 * Datasheets BST-BME280-DS002 (section 5.4) and BST-BMP280-DS001 (section 4.3).
 */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { addressInWords, type I2cBus } from '../hardware/i2c-port.ts';
import type { Clock } from '../host/clock.ts';
import { type BoschTrimming, celsius, fineTemperature, parseTrimming, pascal, relativeHumidity } from './bosch-compensation.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';
import { sensorFault, withinRange } from './sensor-fault.ts';

type BoschConfig = SensorConfigOf<'bme280'> | SensorConfigOf<'bmp280'>;

const REGISTER = {
  trimming: 0x88,
  id: 0xd0,
  humidityTrimming: 0xe1,
  controlHumidity: 0xf2,
  status: 0xf3,
  control: 0xf4,
  config: 0xf5,
  data: 0xf7,
} as const;
const TRIMMING_LENGTH = 26;
const HUMIDITY_TRIMMING_LENGTH = 7;
const CHIP_ID = { bme280: 0x60, bmp280: 0x58 } as const;
const FORCED_MODE = 1;
const MEASURING = 0x08;
const POLL_MS = 2;
/** What the data registers hold when nothing was measured (section 5.4.7). */
const NOT_MEASURED = 0x80000;
const RANGE = { temperature: [-40, 85], pressure: [300, 1100], humidity: [0, 100] } as const;

export async function openBosch(config: BoschConfig, { ports, clock }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const bus = await ports.i2c.openBus(config.bus, signal);
  const chip = new Bosch(config, bus, clock);
  return { name: config.name, read: (readSignal) => chip.read(readSignal), close: () => bus.close() };
}

/** Raw numbers to readings. @throws AgentError `sensors/bad-reading` or `sensors/out-of-range` (retry). */
export function parseBoschData(trimming: BoschTrimming, data: Uint8Array): readonly Reading[] {
  const byte = (at: number): number => data[at] ?? 0;
  const rawPressure = (byte(0) << 12) | (byte(1) << 4) | (byte(2) >> 4);
  const rawTemperature = (byte(3) << 12) | (byte(4) << 4) | (byte(5) >> 4);
  if (rawTemperature === NOT_MEASURED) throw sensorFault('bad-reading', 'the chip has not measured (was it reset?)');
  const fine = fineTemperature(trimming, rawTemperature);
  const pressure = pascal(trimming, fine, rawPressure);
  if (pressure === undefined) throw sensorFault('bad-reading', 'the chip has no trimming values');
  const readings: Reading[] = [
    { key: 'temperature', value: withinRange('temperature', celsius(fine), RANGE.temperature), unit: '°C' },
    { key: 'pressure', value: withinRange('pressure', pressure / 100, RANGE.pressure), unit: 'hPa' },
  ];
  if (trimming.h !== undefined) {
    const humidity = relativeHumidity(trimming.h, fine, (byte(6) << 8) | byte(7));
    readings.push({ key: 'humidity', value: withinRange('humidity', humidity, RANGE.humidity), unit: '%' });
  }
  return readings;
}

class Bosch {
  readonly #config: BoschConfig;
  readonly #bus: I2cBus;
  readonly #clock: Clock;
  /** Set while the chip is known to be set up; a failure clears it, because a chip that lost power forgot everything. */
  #trimming: BoschTrimming | undefined;

  constructor(config: BoschConfig, bus: I2cBus, clock: Clock) {
    this.#config = config;
    this.#bus = bus;
    this.#clock = clock;
  }

  async read(signal: AbortSignal): Promise<readonly Reading[]> {
    try {
      this.#trimming ??= await this.#setUp(signal);
      return parseBoschData(this.#trimming, await this.#measure(signal));
    } catch (error) {
      this.#trimming = undefined;
      throw error;
    }
  }

  async #setUp(signal: AbortSignal): Promise<BoschTrimming> {
    const { kind, address, oversampling, filter } = this.#config;
    const id = (await this.#bus.readRegisters(address, REGISTER.id, 1, signal))[0];
    if (id !== CHIP_ID[kind]) {
      const found = Object.entries(CHIP_ID).find(([, known]) => known === id)?.[0] ?? `a chip with id 0x${(id ?? 0).toString(16)}`;
      throw sensorFault('wrong-chip', `${addressInWords(address)} on ${this.#bus.name} is no ${kind}, but ${found}`);
    }
    const first = await this.#bus.readRegisters(address, REGISTER.trimming, TRIMMING_LENGTH, signal);
    const second =
      kind === 'bme280' ? await this.#bus.readRegisters(address, REGISTER.humidityTrimming, HUMIDITY_TRIMMING_LENGTH, signal) : undefined;
    // Filter coefficients 0, 2, 4, 8, 16 are coded 0 to 4 in bits 4 to 2; config is only written in sleep mode (section 5.4.6).
    await this.#bus.writeRegisters(address, REGISTER.config, Uint8Array.of((filter === 0 ? 0 : Math.log2(filter)) << 2), signal);
    if (kind === 'bme280')
      await this.#bus.writeRegisters(address, REGISTER.controlHumidity, Uint8Array.of(coded(oversampling.humidity)), signal);
    return parseTrimming(first, second);
  }

  async #measure(signal: AbortSignal): Promise<Uint8Array> {
    const { kind, address, oversampling } = this.#config;
    const control = (coded(oversampling.temperature) << 5) | (coded(oversampling.pressure) << 2) | FORCED_MODE;
    await this.#bus.writeRegisters(address, REGISTER.control, Uint8Array.of(control), signal);
    await this.#clock.sleep(greatestConversionMs(this.#config), signal);
    while (((await this.#bus.readRegisters(address, REGISTER.status, 1, signal))[0] ?? 0) & MEASURING)
      await this.#clock.sleep(POLL_MS, signal);
    // One burst, so that all values are of one measurement (section 4).
    return await this.#bus.readRegisters(address, REGISTER.data, kind === 'bme280' ? 8 : 6, signal);
  }
}

/** Oversampling 1, 2, 4, 8, 16 is coded 1 to 5 (table 20). */
function coded(oversampling: number): number {
  return Math.log2(oversampling) + 1;
}

/** Appendix B, section 9.1. */
function greatestConversionMs({ kind, oversampling }: BoschConfig): number {
  const { temperature, pressure, humidity } = oversampling;
  return 1.25 + 2.3 * temperature + 2.3 * pressure + 0.575 + (kind === 'bme280' ? 2.3 * humidity + 0.575 : 0);
}

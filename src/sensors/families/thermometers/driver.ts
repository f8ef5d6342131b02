/**
 * Thermometers that convert by themselves, so that a read is two transfers. Each kind's data names its sheet.
 *
 * Power-up: they show 0 °C until their first conversion has ended. A chip with settings that every read looks for has lost them by then;
 * of the others a 0 °C out of nowhere is only believed when it is still there one conversion later.
 * Shutdown, by whoever used the chip before, is found in the configuration, and ended. During a conversion they show the one before.
 * Overload: the end of a register is no reading, as the truth may be any higher.
 */
import type { I2cBus } from '../../../hardware/i2c-port.ts';
import type { Clock } from '../../../host/clock.ts';
import { type I2cPlace, openI2cChip, wrongChip } from '../../kind/i2c-chip.ts';
import type { Reading, Sensor } from '../../kind/sensor.ts';
import type { SensorDeps } from '../../kind/sensor-deps.ts';
import { sensorFault, withinRange } from '../../kind/sensor-fault.ts';
import { type Settings, type ThermometerData, UNITS } from './definition.ts';

const CONFIG = 1;
const SHUTDOWN = 0x01;
/** °C: a 0 after such a reading is believed. */
const CLOSE_TO_ZERO = 2;

type Driver = Parameters<typeof openI2cChip>[2];

export function thermometerDriver<O>(data: ThermometerData<O>) {
  return {
    open: (config: I2cPlace & O, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> => {
      const settings = data.settings?.(config);
      const { clock } = deps;
      const { read, hasSettings } =
        settings?.lookedFor === undefined ? awakened(data, config, clock) : withSettings(data, config, settings);
      const setUp = async (bus: I2cBus, inner: AbortSignal): Promise<void> => {
        if (data.turn === 1) await expectChip(data, config, bus, inner);
        // A deadline below one conversion passes in the first set-up, and not in the next.
        if (settings === undefined || (await hasSettings?.(bus, inner))) return;
        await bus.writeRegisters(config.address, settings.register, Uint8Array.from(settings.bytes), inner);
        if (hasSettings !== undefined) await clock.sleep(data.conversionMs.longest, inner);
      };
      return openI2cChip(config, deps, { setUp, read }, signal);
    },
  };
}

interface Reader {
  readonly read: Driver['read'];
  readonly hasSettings?: (bus: I2cBus, signal: AbortSignal) => Promise<boolean>;
}

function withSettings(
  data: ThermometerData<never>,
  { address }: I2cPlace,
  { register, bytes, lookedFor = 0 }: Settings,
): Reader {
  const wanted = bytes.reduce((word, byte) => (word << 8) | byte, 0);
  const hasSettings = async (bus: I2cBus, signal: AbortSignal): Promise<boolean> =>
    (((await bus.readWord(address, register, signal)) ^ wanted) & lookedFor) === 0;
  const read: Driver['read'] = async (bus, signal) => {
    const word = await bus.readWord(address, data.temperature, signal);
    // After the temperature: a chip that was reset in between is found out too.
    if (!(await hasSettings(bus, signal)))
      throw sensorFault('bad-reading', `the ${data.kind} has lost its settings (its supply?)`);
    return [parseTemperature(data, word)];
  };
  return { read, hasSettings };
}

function awakened(data: ThermometerData<never>, { address }: I2cPlace, clock: Clock): Reader {
  const { longest } = data.conversionMs;
  let before: number | undefined;
  const read: Driver['read'] = async (bus, signal) => {
    const give = async () => parseTemperature(data, await bus.readWord(address, data.temperature, signal));
    const wasAsleep = await wake(data, address, bus, signal);
    if (wasAsleep) await clock.sleep(longest, signal);
    let reading = await give();
    const isExpected = before !== undefined && Math.abs(before) <= CLOSE_TO_ZERO;
    if (reading.value === 0 && !wasAsleep && !isExpected) {
      await clock.sleep(longest, signal);
      reading = await give();
    }
    before = Number(reading.value);
    return [reading];
  };
  return { read };
}

/** @throws AgentError `sensors/out-of-range` (retry). */
export function parseTemperature(
  { format, extended }: Pick<ThermometerData<never>, 'format' | 'extended'>,
  word: number,
): Reading {
  const isExtended = extended !== undefined && (word & extended.said) !== 0;
  const { bits, lowestBit, stepsPerDegree, range } = isExtended ? extended.format : format;
  const steps = (word << (32 - lowestBit - bits)) >> (32 - bits);
  return {
    key: 'temperature',
    value: withinRange('temperature', steps / stepsPerDegree, range),
    unit: UNITS.temperature,
  };
}

async function expectChip(
  { kind, knownBy, powerOn }: ThermometerData<never>,
  place: I2cPlace,
  bus: I2cBus,
  signal: AbortSignal,
): Promise<void> {
  for (const [register, bits] of Object.entries(knownBy)) {
    const word = await bus.readWord(place.address, Number(register), signal);
    if (((word ^ (powerOn[Number(register)] ?? 0)) & bits) === 0) continue;
    throw wrongChip(place, bus, kind, `its register ${register} holds 0x${word.toString(16)}`);
  }
}

/** @returns that it was in shutdown. */
async function wake(
  { configBytes }: ThermometerData<never>,
  address: number,
  bus: I2cBus,
  signal: AbortSignal,
): Promise<boolean> {
  const found = await bus.readRegisters(address, CONFIG, configBytes, signal);
  const [first = 0, ...others] = found;
  if ((first & SHUTDOWN) === 0) return false;
  await bus.writeRegisters(address, CONFIG, Uint8Array.of(first & ~SHUTDOWN, ...others), signal);
  return true;
}

/**
 * BH1750FVI: one measurement a read, after which it sleeps. ROHM technical note 2009.04, rev. B.
 *
 * Power-up (page 6): asleep, with 0 in its data register; the instruction of a read wakes it, so that there is nothing to lose between reads.
 * A supply that fails within the 180 ms of a measurement shows 0 lx, as darkness does, and the chip has no mark to tell them apart.
 * During a measurement: it has no busy mark either; its longest time is waited for. Overload: 0xffff is the end of its count.
 */
import type { I2cBus } from '../../hardware/i2c-port.ts';
import { openI2cChip, rounded } from '../kind/i2c-chip.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { type Bh1750Config, MEASUREMENT_MS, UNITS } from './definition.ts';

type Mode = Bh1750Config['mode'];

/** One-time modes: instruction (page 5), counts per lux (page 11). */
const MODES: Readonly<Record<Mode, { readonly opcode: number; readonly countsPerLux: number }>> = {
  high: { opcode: 0x20, countsPerLux: 1.2 },
  high2: { opcode: 0x21, countsPerLux: 2.4 },
  low: { opcode: 0x23, countsPerLux: 1.2 },
};

export function open(config: Bh1750Config, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address, mode } = config;
  const read = async (bus: I2cBus, inner: AbortSignal) => {
    await bus.write(address, Uint8Array.of(MODES[mode].opcode), inner);
    await deps.clock.sleep(MEASUREMENT_MS[mode], inner);
    return [parseBh1750(await bus.read(address, 2, inner), mode)];
  };
  return openI2cChip(config, deps, { read }, signal);
}

const END_OF_COUNT = 0xffff;

/** Up to 54611.67 lx, half of that in mode `high2`. @throws AgentError `sensors/out-of-range` (retry) at the end of the count. */
export function parseBh1750(bytes: Uint8Array, mode: Mode): Reading {
  const raw = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0);
  if (raw === END_OF_COUNT) throw sensorFault('out-of-range', 'the light is at the end of the range of the BH1750');
  return { key: 'illuminance', value: rounded(raw / MODES[mode].countsPerLux, 2), unit: UNITS.illuminance };
}

/** BH1750FVI: one measurement a read, after which it sleeps. ROHM technical note 2009.04, rev. B. */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { openI2cChip, rounded } from './i2c-chip.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';

type Mode = SensorConfigOf<'bh1750'>['mode'];

/** One-time modes: instruction (page 5), longest measurement in ms (page 2), counts per lux (page 11). */
const MODES: Readonly<Record<Mode, { readonly opcode: number; readonly ms: number; readonly countsPerLux: number }>> = {
  high: { opcode: 0x20, ms: 180, countsPerLux: 1.2 },
  high2: { opcode: 0x21, ms: 180, countsPerLux: 2.4 },
  low: { opcode: 0x23, ms: 24, countsPerLux: 1.2 },
};

export function openBh1750(config: SensorConfigOf<'bh1750'>, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address, mode } = config;
  return openI2cChip(
    config,
    deps,
    {
      read: async (bus, inner) => {
        await bus.write(address, Uint8Array.of(MODES[mode].opcode), inner);
        await deps.clock.sleep(MODES[mode].ms, inner);
        return [parseBh1750(await bus.read(address, 2, inner), mode)];
      },
    },
    signal,
  );
}

/** Every 16-bit number is a possible illuminance: 0 to 54612.5 lx, half of that in mode `high2`. */
export function parseBh1750(bytes: Uint8Array, mode: Mode): Reading {
  const raw = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0);
  return { key: 'illuminance', value: rounded(raw / MODES[mode].countsPerLux, 2), unit: 'lx' };
}

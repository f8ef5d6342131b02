/**
 * Identification of the chip at an I2C address: by its identity register where it has one, else by registers at their defaults after power-on.
 * Only reads, and only registers that the candidates for that address have; but to read one its number is written, and a chip of another kind
 * may take that for something else.
 */
import type { I2cBus } from '../hardware/i2c-port.ts';
import type { ChipScan } from '../sensors/kind/definition.ts';
import { SENSOR_KINDS, type SensorKind } from './sensor-kinds.ts';

export interface ChipGuess {
  readonly kind: SensorKind;
  /** An identity register said so; otherwise defaults or the address alone did. */
  readonly isCertain: boolean;
}

/** Tells if a chip is there. Nearly all acknowledge being read; those that do not are asked in their own way. @throws as I2cBus.probe. */
export async function answersAt(bus: I2cBus, address: number, signal: AbortSignal): Promise<boolean> {
  if (await bus.probe(address, signal)) return true;
  for (const { scan } of candidatesAt(address))
    if (scan.isSilent === true && (await scan.looksLike(bus, address, signal).catch(() => false))) return true;
  return false;
}

/** Returns the kind of the chip that answers at this address; undefined when it fits none that is known here. */
export async function identifyChip(bus: I2cBus, address: number, signal: AbortSignal): Promise<ChipGuess | undefined> {
  // The first that fits wins; a chip of another kind refuses what it does not have.
  for (const { kind, scan } of candidatesAt(address))
    if (await scan.looksLike(bus, address, signal).catch(() => false)) return { kind, isCertain: scan.isCertain };
  return undefined;
}

/** The kind of a one-wire id, by its family code. */
export function oneWireKind(id: string): SensorKind | undefined {
  return SENSOR_KINDS.find(({ oneWireFamily }) => oneWireFamily !== undefined && id.startsWith(`${oneWireFamily}-`))
    ?.kind;
}

function candidatesAt(address: number): readonly { readonly kind: SensorKind; readonly scan: ChipScan }[] {
  const candidates = SENSOR_KINDS.flatMap(({ kind, scan }) =>
    scan?.addresses.includes(address) === true ? [{ kind, scan }] : [],
  );
  return candidates.sort((a, b) => a.scan.turn - b.scan.turn);
}

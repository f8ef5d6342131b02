/** OBIS codes (IEC 62056-61, value groups C, D and E of electricity) of the keys that meters of several kinds give. */
export const METER_CODES = {
  powerImport: '1.7.0',
  powerExport: '2.7.0',
  powerTotal: '16.7.0',
  energyImport: '1.8.0',
  energyImportT1: '1.8.1',
  energyImportT2: '1.8.2',
  energyExport: '2.8.0',
  energyExportT1: '2.8.1',
  energyExportT2: '2.8.2',
  reactiveEnergyImport: '3.8.0',
  reactiveEnergyExport: '4.8.0',
  voltageL1: '32.7.0',
  voltageL2: '52.7.0',
  voltageL3: '72.7.0',
  currentL1: '31.7.0',
  currentL2: '51.7.0',
  currentL3: '71.7.0',
  currentNeutral: '91.7.0',
  frequency: '14.7.0',
  powerFactorTotal: '13.7.0',
  powerFactorL1: '33.7.0',
  powerFactorL2: '53.7.0',
  powerFactorL3: '73.7.0',
} as const;

/** Returns the key of each code. */
export function keysByCode(codes: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(codes).map(([key, code]) => [code, key]));
}

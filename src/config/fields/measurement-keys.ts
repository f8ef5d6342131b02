/**
 * Vocabulary of what meters, inverters, chargers and sensors measure: one key for one quantity whoever made the device, with the unit that the
 * values of every model have after scaling. `null` is a number without a unit.
 */

/** Quantities of each phase, `voltageL1`, and of all phases together, `powerTotal`. */
const OF_PHASES = { current: 'A', power: 'W', reactivePower: 'var', apparentPower: 'VA', powerFactor: null } as const;
/** Counters of all phases, `energyImport`, of each phase, `energyImportL1`, and of each tariff, `energyImportT1`. */
const COUNTERS = {
  energyImport: 'kWh',
  energyExport: 'kWh',
  energySum: 'kWh',
  reactiveEnergyImport: 'kvarh',
  reactiveEnergyExport: 'kvarh',
  reactiveEnergySum: 'kvarh',
  apparentEnergySum: 'kVAh',
} as const;
/** Where a site meets the grid, positive when drawn, and what it uses, beside what an inverter itself gives. */
const OF_SITE = { gridVoltage: 'V', gridCurrent: 'A', gridPower: 'W', loadPower: 'W' } as const;
/** Quantities of each direct-current input, `dcPower1`, and of all. */
const OF_INPUTS = { dcVoltage: 'V', dcCurrent: 'A', dcPower: 'W' } as const;

const PHASES = ['L1', 'L2', 'L3'];
const TARIFFS = ['T1', 'T2', 'T3', 'T4'];
const INPUTS = ['1', '2', '3', '4'];
const CHANNELS = [...INPUTS, '5', '6', '7', '8'];

export const MEASUREMENT_UNITS: Readonly<Record<string, string | null>> = {
  ...named({ voltage: 'V', voltageThd: '%', currentThd: '%', phaseAngle: '°', ...OF_PHASES }, PHASES),
  ...named(OF_PHASES, ['Total']),
  ...named(COUNTERS, ['', ...PHASES, ...TARIFFS]),
  ...named(OF_INPUTS, ['', ...INPUTS, 'Total']),
  ...named(OF_SITE, PHASES),
  gridPower: 'W',
  loadPower: 'W',
  dcEnergyTotal: 'kWh',
  batteryPowerCharge: 'W',
  batteryPowerDischarge: 'W',
  voltageL1L2: 'V',
  voltageL2L3: 'V',
  voltageL3L1: 'V',
  voltageAverage: 'V',
  voltageLineAverage: 'V',
  voltageThdAverage: '%',
  phaseAngleTotal: '°',
  currentAverage: 'A',
  currentNeutral: 'A',
  frequency: 'Hz',
  powerImport: 'W',
  powerExport: 'W',
  energyYieldDay: 'kWh',
  energyYieldTotal: 'kWh',
  energyCharged: 'kWh',
  batteryVoltage: 'V',
  batteryCurrent: 'A',
  batteryPower: 'W',
  batterySoc: '%',
  batterySoh: '%',
  batteryTemperature: '°C',
  batteryRuntime: 's',
  loadLevel: '%',
  batteryEnergyCharged: 'kWh',
  batteryEnergyDischarged: 'kWh',
  chargePower: 'W',
  chargeCurrentLimit: 'A',
  energySession: 'kWh',
  temperature: '°C',
  humidity: '%',
  dewPoint: '°C',
  pressure: 'hPa',
  co2: 'ppm',
  illuminance: 'lx',
  irradiance: 'W/m²',
  windSpeed: 'm/s',
  windDirection: '°',
  flow: 'm³/h',
  volume: 'm³',
  heatPower: 'W',
  heatEnergy: 'kWh',
  coolingEnergy: 'kWh',
  mass: 'kg',
  massFlow: 'kg/h',
  heatCostUnits: null,
  temperatureDifference: 'K',
  onHours: 'h',
  temperatureFlow: '°C',
  temperatureReturn: '°C',
  temperatureOutdoor: '°C',
  temperatureWater: '°C',
  temperatureBuffer: '°C',
  temperatureSource: '°C',
  temperatureHeatingCircuit1: '°C',
  temperatureCoolant: '°C',
  engineSpeed: 'rpm',
  temperatureSupplyAir: '°C',
  temperatureExtractAir: '°C',
  fanSpeedSupply: '%',
  fanSpeedExtract: '%',
  ...named({ temperature: '°C', relay: null }, CHANNELS),
  state: null,
  fault: null,
  operatingHours: 'h',
};

function named(
  units: Readonly<Record<string, string | null>>,
  endings: readonly string[],
): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(units).flatMap(([name, unit]) => endings.map((ending) => [`${name}${ending}`, unit])),
  );
}

/**
 * Blocks of SunSpec and those of their points that are reported, by place from the block's beginning; the block's own number and length stand at 0
 * and 1. Facts of the SunSpec information models (github.com/sunspec/models, json/model_N.json).
 *
 *   key: [place, type, place of the scale factor, scale beside it]
 */
import type { BlockId } from './definition.ts';

/** `acc32` counts up, and is 0 where it is not implemented. */
export type PointType = 'uint16' | 'int16' | 'enum16' | 'acc32' | 'acc64' | 'bitfield32' | 'float32' | 'text16';
export type Point = readonly [
  place: number,
  type: PointType,
  factorAt?: number | undefined,
  scale?: number | undefined,
];

export interface Block {
  readonly points: Readonly<Record<string, Point>>;
  /** Points of each of several alike, whose keys are numbered from 1: the first begins at `from`. */
  readonly repeated?: {
    readonly from: number;
    readonly length: number;
    readonly points: Readonly<Record<string, Point>>;
  };
}

/** Units of keys that the measurement vocabulary does not have. */
export const UNITS: Readonly<Record<string, string>> = {
  powerRated: 'W',
  apparentPowerRated: 'VA',
  batteryEnergyRated: 'kWh',
  powerLimit: 'W',
  voltageReference: 'V',
  powerAvailable: 'W',
  temperatureHeatSink: '°C',
  temperatureTransformer: '°C',
  temperatureOther: '°C',
  powerLimitPercent: '%',
  chargePowerMax: 'W',
  batterySocReserve: '%',
};

/** Watt-hours are reported as kWh, per cent of power factor as a number up to 1. */
const KILO = 0.001;
const CENTI = 0.01;

const INVERTER: Block = {
  points: {
    ...phases('currentTotal', 2, 'uint16', 6),
    voltageL1L2: [7, 'uint16', 13],
    voltageL2L3: [8, 'uint16', 13],
    voltageL3L1: [9, 'uint16', 13],
    voltageL1: [10, 'uint16', 13],
    voltageL2: [11, 'uint16', 13],
    voltageL3: [12, 'uint16', 13],
    powerTotal: [14, 'int16', 15],
    frequency: [16, 'uint16', 17],
    apparentPowerTotal: [18, 'int16', 19],
    reactivePowerTotal: [20, 'int16', 21],
    powerFactorTotal: [22, 'int16', 23, CENTI],
    energyYieldTotal: [24, 'acc32', 26, KILO],
    dcCurrent: [27, 'uint16', 28],
    dcVoltage: [29, 'uint16', 30],
    dcPower: [31, 'int16', 32],
    temperature: [33, 'int16', 37],
    temperatureHeatSink: [34, 'int16', 37],
    temperatureTransformer: [35, 'int16', 37],
    temperatureOther: [36, 'int16', 37],
    state: [38, 'enum16'],
    fault: [40, 'bitfield32'],
  },
};

const INVERTER_FLOAT: Block = {
  points: {
    ...phases('currentTotal', 2, 'float32'),
    voltageL1L2: [10, 'float32'],
    voltageL2L3: [12, 'float32'],
    voltageL3L1: [14, 'float32'],
    voltageL1: [16, 'float32'],
    voltageL2: [18, 'float32'],
    voltageL3: [20, 'float32'],
    powerTotal: [22, 'float32'],
    frequency: [24, 'float32'],
    apparentPowerTotal: [26, 'float32'],
    reactivePowerTotal: [28, 'float32'],
    energyYieldTotal: [32, 'float32', undefined, KILO],
    powerFactorTotal: [30, 'float32', undefined, CENTI],
    dcCurrent: [34, 'float32'],
    dcVoltage: [36, 'float32'],
    dcPower: [38, 'float32'],
    temperature: [40, 'float32'],
    temperatureHeatSink: [42, 'float32'],
    temperatureTransformer: [44, 'float32'],
    temperatureOther: [46, 'float32'],
    state: [48, 'enum16'],
    fault: [50, 'bitfield32'],
  },
};

const METER: Block = {
  points: {
    ...phases('currentTotal', 2, 'int16', 6),
    ...phases('voltageAverage', 7, 'int16', 15),
    voltageLineAverage: [11, 'int16', 15],
    voltageL1L2: [12, 'int16', 15],
    voltageL2L3: [13, 'int16', 15],
    voltageL3L1: [14, 'int16', 15],
    frequency: [16, 'int16', 17],
    ...phases('powerTotal', 18, 'int16', 22),
    ...phases('apparentPowerTotal', 23, 'int16', 27),
    ...phases('reactivePowerTotal', 28, 'int16', 32),
    ...phases('powerFactorTotal', 33, 'int16', 37, CENTI),
    ...phases('energyExport', 38, 'acc32', 54, KILO),
    ...phases('energyImport', 46, 'acc32', 54, KILO),
    fault: [105, 'bitfield32'],
  },
};

const METER_FLOAT: Block = {
  points: {
    ...phases('currentTotal', 2, 'float32'),
    ...phases('voltageAverage', 10, 'float32'),
    voltageLineAverage: [18, 'float32'],
    voltageL1L2: [20, 'float32'],
    voltageL2L3: [22, 'float32'],
    voltageL3L1: [24, 'float32'],
    frequency: [26, 'float32'],
    ...phases('powerTotal', 28, 'float32'),
    ...phases('apparentPowerTotal', 36, 'float32'),
    ...phases('reactivePowerTotal', 44, 'float32'),
    ...phases('powerFactorTotal', 52, 'float32'),
    ...phases('energyExport', 60, 'float32', undefined, KILO),
    ...phases('energyImport', 68, 'float32', undefined, KILO),
    fault: [124, 'bitfield32'],
  },
};

export const BLOCKS: Readonly<Record<BlockId, Block>> = {
  1: { points: { maker: [2, 'text16'], model: [18, 'text16'], serialNumber: [50, 'text16'] } },
  101: INVERTER,
  102: INVERTER,
  103: INVERTER,
  111: INVERTER_FLOAT,
  112: INVERTER_FLOAT,
  113: INVERTER_FLOAT,
  120: {
    points: {
      powerRated: [3, 'uint16', 4],
      apparentPowerRated: [5, 'uint16', 6],
      batteryEnergyRated: [19, 'uint16', 20, KILO],
    },
  },
  121: { points: { powerLimit: [2, 'uint16', 22], voltageReference: [3, 'uint16', 23] } },
  122: { points: { energyYieldTotal: [5, 'acc64', undefined, KILO], powerAvailable: [31, 'uint16', 32] } },
  123: {
    points: {
      isConnected: [4, 'enum16'],
      powerLimitPercent: [5, 'uint16', 23],
      isPowerLimited: [9, 'enum16'],
      powerFactorSetpoint: [10, 'int16', 24],
      isPowerFactorSet: [14, 'enum16'],
    },
  },
  124: {
    points: {
      batterySoc: [8, 'uint16', 22],
      batteryVoltage: [10, 'uint16', 24],
      batteryState: [11, 'enum16'],
      chargePowerMax: [2, 'uint16', 18],
      batterySocReserve: [7, 'uint16', 21],
    },
  },
  160: {
    points: {},
    repeated: {
      from: 10,
      length: 20,
      points: { dcCurrent: [9, 'uint16', 2], dcVoltage: [10, 'uint16', 3], dcPower: [11, 'uint16', 4] },
    },
  },
  201: METER,
  202: METER,
  203: METER,
  204: METER,
  211: METER_FLOAT,
  212: METER_FLOAT,
  213: METER_FLOAT,
  214: METER_FLOAT,
  802: {
    points: {
      batterySoc: [11, 'uint16', 56],
      batterySoh: [13, 'uint16', 58],
      batteryState: [16, 'enum16'],
      fault: [26, 'bitfield32'],
      batteryVoltage: [34, 'uint16', 59],
      batteryCurrent: [44, 'int16', 61],
      batteryPower: [47, 'int16', 63],
    },
  },
};

/** Sum or mean of the phases under its own key, and each of them, one after another. */
function phases(
  key: string,
  place: number,
  type: PointType,
  factorAt?: number,
  scale?: number,
): Readonly<Record<string, Point>> {
  const width = type === 'float32' || type === 'acc32' ? 2 : 1;
  const name = key.replace(/Total$|Average$/, '');
  return Object.fromEntries(
    [key, `${name}L1`, `${name}L2`, `${name}L3`].map((one, at) => [
      one,
      [place + at * width, type, factorAt, scale] as const,
    ]),
  );
}

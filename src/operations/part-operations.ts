/** Search for parts that are connected to the board, for a person who is about to configure one. */
import { isJsonObject, type JsonObject } from '../values/json.ts';
import { memberOf, type OperationsOn, objectOf, QUESTION, textOf } from './operation.ts';

/** Something on a bus or port. */
export interface FoundPart {
  /** The same one whenever it is found there: `i2c-1-0x76`. */
  readonly id: string;
  /** `I2C bus 1, address 0x76`. */
  readonly place: string;
  /** `BME280: temperature, pressure, humidity`. */
  readonly what: string;
  /** Sensor that has it. */
  readonly usedBy?: string;
  /** As people read them: `temperature 21.3 °C`. */
  readonly readings?: readonly string[];
  /** Section for the configuration in force, by a name and keys that nobody has; absent where it is in use, or nobody knows what it is. */
  readonly sensor?: JsonObject;
}

export interface FoundPort {
  readonly port: string;
  /** Sensor or output that has it; it was not opened. */
  readonly usedBy?: string;
}

export interface FoundParts {
  readonly found: readonly FoundPart[];
  readonly ports: readonly FoundPort[];
  /** Places that could not be looked at, and why. */
  readonly faults: readonly string[];
}

/** A serial port whose Modbus units are asked. */
export interface ModbusSearch {
  readonly port: string;
  readonly baudRate: number;
}

export interface PartSearch {
  /**
   * Looks on the buses, and on the serial ports that nobody has; of a Modbus search on its port alone. It ends within `FIND_PARTS_WITHIN_MS`.
   *
   * @throws AgentError `scan/busy` (retry) while another search runs, `scan/port-in-use` (hold); the signal's reason once it aborts.
   */
  find(modbus: ModbusSearch | undefined, signal: AbortSignal): Promise<FoundParts>;
}

/** A search of all places ends by itself after this long, with what it has found. */
export const FIND_PARTS_WITHIN_MS = 60_000;
/** Reading what was found last may take this much longer. */
const MARGIN_MS = 10_000;

export const PART_OPERATIONS: OperationsOn<PartSearch> = {
  findParts: (search) => ({
    ...QUESTION,
    description:
      'Looks for what is connected and not configured yet; Modbus units of a serial port where one is named.',
    // To read a chip's register its number is written, and an unknown chip may take that for a setting; ports are opened, and units asked. Only
    // whoever stands beside the board knows what hangs there: the platform may not ask.
    askers: ['site', 'page'],
    params: objectOf(
      {
        modbus: objectOf({
          port: { type: 'string', minLength: 1, maxLength: 200, description: 'the serial port, as /dev/ttyUSB0' },
          baudRate: { type: 'number', minimum: 300, maximum: 4_000_000, description: 'bits per second' },
        }),
      },
      [],
    ),
    deadlineMs: FIND_PARTS_WITHIN_MS + MARGIN_MS,
    run: (params, { signal }) => {
      const modbus = memberOf(params, 'modbus');
      const wanted = isJsonObject(modbus)
        ? { port: textOf(modbus, 'port'), baudRate: Number(memberOf(modbus, 'baudRate')) }
        : undefined;
      return search.find(wanted, signal);
    },
  }),
};

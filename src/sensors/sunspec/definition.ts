/**
 * An inverter, meter or battery with the registers of SunSpec, which it describes by itself: nobody has to know addresses. Keys are those of the
 * measurement vocabulary; one that several blocks give has the number of the block after it from the second on, `powerTotal_203`.
 */
import { z } from 'zod';
import { modbusConnection } from '../../config/fields/addresses.ts';
import { list, whole } from '../../config/fields/fields.ts';
import { unitFaults } from '../../config/fields/registers.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const BLOCKS = [
  1, 101, 102, 103, 111, 112, 113, 120, 121, 122, 123, 124, 160, 201, 202, 203, 204, 211, 212, 213, 214, 802,
] as const;
const TEXTS: readonly string[] = ['maker', 'model', 'serialNumber'];

export type BlockId = (typeof BLOCKS)[number];

const schema = sensorSection('sunspec', () => ({
  connection: modbusConnection,
  /** Unit (slave) address. */
  unitId: whole(0, 255).default(1),
  /** Address of the mark "SunS"; without it 40000, 50000 and 0 are tried. */
  base: whole(0, 65_531).optional(),
  /** Blocks to read; all that are known when not given. */
  blocks: list(z.literal(BLOCKS), { min: 1 }).optional(),
}));

export type SunspecConfig = ConfigOf<typeof schema>;

export const sunspec = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  valueType: (_config, key) => (TEXTS.includes(key.replace(/(_\d+)+$/, '')) ? 'string' : 'number'),
  // Block 1 holds the texts.
  digitTexts: ({ blocks }) => (blocks === undefined || blocks.includes(1) ? ['serialNumber'] : []),
  waitMs: ({ connection }) => connection.responseTimeoutMs,
  faults: unitFaults,
  remedy: () =>
    'see that Modbus and its SunSpec registers are switched on in the device, and check its unit number (SMA: 126, SolarEdge: 1)',
});

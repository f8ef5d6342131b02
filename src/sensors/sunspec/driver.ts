/**
 * A SunSpec unit: its blocks are found once, and then read as the registers of a Modbus unit are, with all that this does for silence and refusals.
 *
 *   no blocks ──find──► blocks ──read──► values, and in the first read who it is
 *       ▲                  │
 *       └── a block is not where it was, or everything is refused: the device was replaced, or changed its blocks
 */
import { AgentError, hasCode } from '../../errors/agent-error.ts';
import type { Reading, Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { modbus } from '../modbus/definition.ts';
import { open as openModbus } from '../modbus/driver.ts';
import { type BlockRegisters, registersOf } from './block-registers.ts';
import { BlockSearch, type FoundBlock } from './block-search.ts';
import { BLOCKS } from './blocks.ts';
import type { SunspecConfig } from './definition.ts';

const COMMON = 1;
/** Between the points of a block lies less than this; a request for what is between costs more than reading it. */
const MAX_GAP = 100;
/** Keys under which the number and the length of each block are read along. */
const HEADER = 'header of block ';

/** By configuration, with what was found until values were read: a slow unit's search goes on when the driver was opened again. */
const searches = new WeakMap<object, BlockSearch>();

interface Found {
  readonly values: Sensor;
  /** Number and length by the key under which they are read. */
  readonly headers: ReadonlyMap<string, number>;
  /** Identity of the device; undefined once it was told. */
  identity?: Sensor | undefined;
}

export async function open(config: SunspecConfig, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, connection, unitId, base, blocks: picked } = config;
  const link = await deps.ports.modbus.open(connection, signal);
  const search = searches.get(config) ?? new BlockSearch();
  searches.set(config, search);
  let found: Found | undefined;

  const sensorOf = async (registers: BlockRegisters, inner: AbortSignal): Promise<Sensor> => {
    const section = modbus.schema.parse({
      name,
      kind: 'modbus',
      unitId,
      registers,
      maxGap: MAX_GAP,
      connection: { transport: 'tcp', host: 'it' },
    });
    return await openModbus({ ...section, connection, deadlineMs: config.deadlineMs }, deps, inner);
  };
  const find = async (inner: AbortSignal): Promise<Found> => {
    const all = await search.goOn({ link, unitId, base }, inner);
    const known = all.filter(({ id }) => (picked ?? Object.keys(BLOCKS).map(Number)).some((one) => one === id));
    if (known.length === 0) {
      search.beginAnew();
      throw sensorFault('no-sunspec', `unit ${unitId} has the blocks ${idsOf(all)}, and none of those to read`);
    }
    const common = known.filter(({ id }) => id === COMMON);
    const others = known.filter(({ id }) => id !== COMMON);
    const headers = others.map((block) => [HEADER + block.address, block] as const);
    const values = await sensorOf(
      {
        ...registersOf(others.length > 0 ? others : common),
        ...Object.fromEntries(headers.map(([key, { address }]) => [key, { address, type: 'uint32' }])),
      },
      inner,
    );
    const identity = others.length > 0 && common.length > 0 ? await sensorOf(registersOf(common), inner) : undefined;
    return {
      values,
      identity,
      headers: new Map(headers.map(([key, { id, length }]) => [key, id * 0x1_0000 + length])),
    };
  };
  const forget = async (): Promise<void> => {
    search.beginAnew();
    await closeFound();
  };
  const closeFound = async (): Promise<void> => {
    const { values, identity } = found ?? {};
    found = undefined;
    await values?.close();
    await identity?.close();
  };
  const readValues = async ({ values, headers }: Found, inner: AbortSignal): Promise<readonly Reading[]> => {
    try {
      const readings = await values.read(inner);
      if (readings.every(({ key, value }) => !headers.has(key) || headers.get(key) === value))
        return readings.filter(({ key }) => !headers.has(key));
    } catch (fault) {
      if (hasCode(fault, 'hardware/modbus-exception')) await forget();
      throw fault;
    }
    await forget();
    throw sensorFault('moved', `a block of unit ${unitId} is not where it was: the blocks are looked for again`);
  };
  const readIdentity = async (of: Found, inner: AbortSignal): Promise<readonly Reading[]> => {
    const { identity } = of;
    if (identity === undefined) return [];
    try {
      const who = await identity.read(inner);
      of.identity = undefined;
      await identity.close();
      return who;
    } catch (fault) {
      // Values do not wait for a name: one that is not given now is asked for in the next read.
      if (fault instanceof AgentError) return [];
      throw fault;
    }
  };
  return {
    name,
    read: async (inner) => {
      found ??= await find(inner);
      const readings = await readValues(found, inner);
      search.beginAnew();
      return [...(await readIdentity(found, inner)), ...readings];
    },
    refused: () => (found?.values.refused?.() ?? []).filter(isMissing),
    close: async () => {
      await closeFound();
      await link.close();
    },
  };
}

/** A point that the device does not implement is none that is missing. */
function isMissing({ key, fault }: Refusal): boolean {
  return !hasCode(fault, 'sensors/no-value') && !key.startsWith(HEADER);
}

function idsOf(blocks: readonly FoundBlock[]): string {
  return blocks.length === 0 ? '(no block)' : blocks.map(({ id }) => id).join(', ');
}

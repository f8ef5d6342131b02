/**
 * Finds the blocks of a SunSpec unit: after the mark "SunS" each block begins with its number and the length of what follows, and the number 0xFFFF
 * ends the list (information model specification, "Device Information Model").
 */
import { hasCode } from '../../errors/agent-error.ts';
import type { ModbusLink } from '../../hardware/modbus-port.ts';
import { sensorFault } from '../kind/sensor-fault.ts';

export interface FoundBlock {
  readonly id: number;
  /** Register of its number. */
  readonly address: number;
  /** Registers after number and length. */
  readonly length: number;
}

/** Addresses where the mark may stand. */
const BASES = [40_000, 50_000, 0];
const MARK = 'SunS';
const END = 0xffff;
/** Batteries with a block for each string have some forty. */
const MAX_BLOCKS = 128;
const ADDRESSES = 65_536;

interface Unit {
  readonly link: Pick<ModbusLink, 'readRegisters'>;
  readonly unitId: number;
  readonly base?: number | undefined;
}

/** @throws AgentError `sensors/no-sunspec` (retry) where no mark is, `hardware/modbus-…`, `hardware/deadline` (retry). */
export async function findBlocks(unit: Unit, signal: AbortSignal): Promise<readonly FoundBlock[]> {
  const start = (await findMark(unit, signal)) + 2;
  const blocks: FoundBlock[] = [];
  for (let address = start; blocks.length < MAX_BLOCKS && address + 2 <= ADDRESSES; ) {
    const [id = END, length = 0] = await readPair(unit, address, signal);
    if (id === END) break;
    blocks.push({ id, address, length });
    address += 2 + length;
  }
  return blocks;
}

async function findMark(unit: Unit, signal: AbortSignal): Promise<number> {
  const bases = unit.base === undefined ? BASES : [unit.base];
  let silence: unknown;
  for (const base of bases) {
    try {
      const words = await readPair(unit, base, signal);
      if (Buffer.from(words.flatMap((word) => [word >> 8, word & 0xff])).toString('latin1') === MARK) return base;
    } catch (fault) {
      // Some units refuse an address that they do not have, and some say nothing.
      if (signal.aborted) throw fault;
      if (!hasCode(fault, 'hardware/modbus-exception')) silence ??= fault;
    }
  }
  if (silence !== undefined) throw silence;
  throw sensorFault('no-sunspec', `unit ${unit.unitId} has no SunSpec registers at ${bases.join(', ')}`);
}

function readPair({ link, unitId }: Unit, address: number, signal: AbortSignal): Promise<readonly number[]> {
  return link.readRegisters(unitId, { table: 'holding', address, count: 2 }, signal);
}

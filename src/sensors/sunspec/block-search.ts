/**
 * Search for the blocks of a SunSpec unit: after the mark "SunS" each block begins with its number and the length of what follows, and the number
 * 0xFFFF ends the list (information model specification, "Device Information Model"). A slow unit is not through within one read: the search goes
 * on where it was.
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
/** Reads without an answer after which a search begins anew: where it looks may be nothing any more. */
const MAX_IN_VAIN = 3;

interface Unit {
  readonly link: Pick<ModbusLink, 'readRegisters'>;
  readonly unitId: number;
  readonly base?: number | undefined;
}

export class BlockSearch {
  #silence: unknown;
  /** How many addresses of the mark were asked. */
  #tried = 0;
  /** Register of the next block, once the mark is found. */
  #next: number | undefined;
  #blocks: FoundBlock[] = [];
  /** Reads in a row in which nothing was found out. */
  #inVain = 0;

  /**
   * @throws AgentError `sensors/searching` (retry) when the next read goes on, `sensors/no-sunspec` (retry) where no mark is, `hardware/modbus-…`,
   * `hardware/deadline` (retry).
   */
  async goOn(unit: Unit, signal: AbortSignal): Promise<readonly FoundBlock[]> {
    const before = this.#answers();
    try {
      this.#next ??= (await this.#findMark(unit, signal)) + 2;
      while (this.#blocks.length < MAX_BLOCKS && this.#next + 2 <= ADDRESSES) {
        const [id = END, length = 0] = await readPair(unit, this.#next, signal);
        if (id === END) break;
        this.#blocks.push({ id, address: this.#next, length });
        this.#next += 2 + length;
      }
      return this.#blocks;
    } catch (fault) {
      this.#inVain = this.#answers() > before ? 0 : this.#inVain + 1;
      // The list may be another one now.
      if (hasCode(fault, 'hardware/modbus-exception') || this.#inVain >= MAX_IN_VAIN) this.beginAnew();
      if (this.#next === undefined || this.#inVain > 0) throw fault;
      throw sensorFault(
        'searching',
        `unit ${unit.unitId}: ${this.#blocks.length} blocks found so far, the next read looks for more`,
        fault,
      );
    }
  }

  beginAnew(): void {
    [this.#silence, this.#tried, this.#next, this.#blocks, this.#inVain] = [undefined, 0, undefined, [], 0];
  }

  #answers(): number {
    return this.#tried + this.#blocks.length;
  }

  async #findMark(unit: Unit, signal: AbortSignal): Promise<number> {
    const bases = unit.base === undefined ? BASES : [unit.base];
    for (const base of bases.slice(this.#tried)) {
      try {
        const words = await readPair(unit, base, signal);
        this.#tried += 1;
        if (Buffer.from(words.flatMap((word) => [word >> 8, word & 0xff])).toString('latin1') === MARK) return base;
      } catch (fault) {
        // Some units refuse an address that they do not have, and some say nothing.
        if (signal.aborted) throw fault;
        this.#tried += 1;
        if (!hasCode(fault, 'hardware/modbus-exception')) this.#silence ??= fault;
      }
    }
    const silence = this.#silence;
    this.beginAnew();
    if (silence !== undefined) throw silence;
    throw sensorFault('no-sunspec', `unit ${unit.unitId} has no SunSpec registers at ${bases.join(', ')}`);
  }
}

function readPair({ link, unitId }: Unit, address: number, signal: AbortSignal): Promise<readonly number[]> {
  return link.readRegisters(unitId, { table: 'holding', address, count: 2 }, signal);
}

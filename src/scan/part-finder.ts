/** Search of a running agent: one at a time, bounded in time. What it is made of is loaded by the first one. */
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { retryable } from '../errors/agent-error.ts';
import { withinMs } from '../host/bounded-wait.ts';
import {
  FIND_PARTS_WITHIN_MS,
  type FoundParts,
  type ModbusSearch,
  type PartSearch,
} from '../operations/part-operations.ts';
import type { ScanDeps } from './scan-deps.ts';

export interface PartFinderDeps extends ScanDeps {
  readonly config: () => AgentConfig;
  readonly configFile: string;
  /** Modbus units that are asked; 1 to 32 where they are left out. */
  readonly units?: readonly number[];
}

export class PartFinder implements PartSearch {
  readonly #deps: PartFinderDeps;
  #isBusy = false;

  constructor(deps: PartFinderDeps) {
    this.#deps = deps;
  }

  async find(modbus: ModbusSearch | undefined, signal: AbortSignal): Promise<FoundParts> {
    if (this.#isBusy) throw retryable('scan/busy', 'somebody else looks for parts just now');
    this.#isBusy = true;
    const look = async (within: AbortSignal): Promise<FoundParts> => {
      const { Search } = await import('./find-parts.ts');
      const search = new Search(this.#deps);
      return modbus === undefined ? await search.everywhere(within) : await search.onLine(modbus, within);
    };
    try {
      const parts = await withinMs(this.#deps.clock, FIND_PARTS_WITHIN_MS, look, signal);
      // Nobody is there to hear it.
      signal.throwIfAborted();
      return parts;
    } finally {
      this.#isBusy = false;
    }
  }
}

/**
 * The boots that are known, as they lie in `boots.json` and its twin: what was taken in earlier boots has its times from nowhere else, and would
 * wait for ever. The twin is written first, so it is never the older of the two, except after an earlier release, which sets it aside.
 */
import { AgentError } from '../../errors.ts';
import { GROUP_MODE, writeDurably } from '../../host/durable-file.ts';
import { isLost } from '../../host/files.ts';
import { parseJson, stringifyJson } from '../../host/json.ts';
import { readSmallFile, type SmallFileDeps } from '../segments/small-file.ts';

/** How far an offset can be trusted. `synchronised`: the clock was. `bounded`: its neighbours leave little room. `guessed`: nothing is known. */
export type Certainty = 'synchronised' | 'bounded' | 'guessed';

export interface BootOffset {
  /** Ms since boot from which it holds. */
  readonly fromMs: number;
  /** UTC epoch ms minus ms since boot; whole. */
  readonly offsetMs: number;
  readonly certainty: Certainty;
  /** A time was given out with it. */
  readonly frozen: boolean;
}

export interface BootRecord {
  readonly bootId: string;
  /** Latest entry seen of it, ms since boot. */
  readonly lastMs: number;
  /** What its clock said before anyone could vouch for it. */
  readonly guessMs: number;
  readonly offsets: readonly BootOffset[];
}

const NAME = 'boots.json';
const TWIN = 'boots.twin.json';
const FORMAT = 'turnstone-outbox-boots';
const VERSION = 1;

/**
 * What is kept, and whether it lies where it belongs; a file that cannot be used is set aside once the other one was read, or it is given up.
 * @throws AgentError `host/read-failed` when one may be read another time and the other is not there.
 */
export async function readBoots(deps: SmallFileDeps): Promise<{ readonly boots: BootRecord[]; readonly isWhole: boolean }> {
  const first = await readOne(deps, NAME);
  if (first.boots !== undefined) return { boots: first.boots, isWhole: true };
  const { boots, fault } = await readOne(deps, TWIN);
  if (boots === undefined && (first.fault ?? fault) !== undefined) throw first.fault ?? fault;
  if (boots !== undefined && first.fault !== undefined) {
    if (!(first.fault instanceof AgentError && isLost(first.fault.cause))) throw first.fault;
    await deps.setAside(NAME);
  }
  return { boots: boots ?? [], isWhole: false };
}

/** @throws AgentError `host/write-failed` (retry). */
export async function writeBoots({ files, folder }: Pick<SmallFileDeps, 'files' | 'folder'>, boots: readonly BootRecord[]): Promise<void> {
  const text = `${stringifyJson({ format: FORMAT, version: VERSION, boots })}\n`;
  for (const name of [TWIN, NAME]) await writeDurably(files, `${folder}/${name}`, text, { mode: GROUP_MODE });
}

async function readOne(deps: SmallFileDeps, name: string): Promise<{ readonly boots?: BootRecord[]; readonly fault?: unknown }> {
  try {
    const bytes = await readSmallFile(deps, name);
    if (bytes === undefined) return {};
    const boots = readTable(bytes);
    if (boots !== undefined) return { boots };
    await deps.setAside(name);
    return {};
  } catch (fault) {
    return { fault };
  }
}

/** The boots in the file; undefined when it is broken. */
function readTable(bytes: Uint8Array): BootRecord[] | undefined {
  try {
    const table = parseJson(Buffer.from(bytes).toString()) as { format?: string; version?: number; boots?: BootRecord[] };
    if (table.format !== FORMAT || !Array.isArray(table.boots)) return undefined;
    const whole = table.boots.every(
      (boot) => typeof boot.bootId === 'string' && Number.isFinite(boot.lastMs) && Array.isArray(boot.offsets),
    );
    return whole ? table.boots : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The boots that are known, as they lie in `boots.json` and its twin: entries of earlier boots have their times from nowhere else, and would
 * wait for ever. The twin is written first, so it is never the older of the two.
 */
import { AgentError } from '../../errors/agent-error.ts';
import { isLost } from '../../host/files.ts';
import { GROUP_MODE, writeDurably } from '../../store/durable-file.ts';
import { fieldsOf, isSealed, sealJson } from '../../store/sealed-json.ts';
import { OWN_JSON } from '../../values/json.ts';
import { mismatchOf, type ValueShape } from '../../values/value-shape.ts';
import { readSmallFile, type SmallFileDeps } from '../segments/small-file.ts';

/** How far an offset can be trusted. `synchronised`: the clock was. `bounded`: its neighbours leave little room. `guessed`: nothing is known. */
export type Certainty = (typeof CERTAINTIES)[number];
const CERTAINTIES = ['synchronised', 'bounded', 'guessed'] as const;

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
  /** Wall time by its clock before anyone could vouch for it. */
  readonly guessMs: number;
  readonly offsets: readonly BootOffset[];
}

const NAME = 'boots.json';
const TWIN = 'boots.twin.json';
const FORMAT = { format: 'turnstone-outbox-boots', version: 1 };
const OFFSET: ValueShape = {
  type: 'object',
  required: ['fromMs', 'offsetMs', 'certainty', 'frozen'],
  properties: {
    fromMs: { type: 'number' },
    offsetMs: { type: 'integer' },
    certainty: { enum: CERTAINTIES },
    frozen: { type: 'boolean' },
  },
};
const BOOTS: ValueShape = {
  type: 'array',
  items: {
    type: 'object',
    required: ['bootId', 'lastMs', 'guessMs', 'offsets'],
    properties: {
      bootId: { type: 'string' },
      lastMs: { type: 'number' },
      guessMs: { type: 'number' },
      offsets: { type: 'array', items: OFFSET },
    },
  },
};

interface TableFile {
  readonly boots?: BootRecord[];
  readonly fault?: unknown;
}

/**
 * Reads the records, and tells whether both copies are good; an unusable file is quarantined once the other one was read, or its retries ended.
 * @throws AgentError `host/read-failed` when one may be read another time and the other is not there.
 */
export async function readBoots(
  deps: SmallFileDeps,
): Promise<{ readonly boots: BootRecord[]; readonly isWhole: boolean }> {
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
export async function writeBoots(
  { files, folder }: Pick<SmallFileDeps, 'files' | 'folder'>,
  boots: readonly BootRecord[],
): Promise<void> {
  const text = `${sealJson({ ...FORMAT, boots })}\n`;
  for (const name of [TWIN, NAME]) await writeDurably(files, `${folder}/${name}`, text, { mode: GROUP_MODE });
}

async function readOne(deps: SmallFileDeps, name: string): Promise<TableFile> {
  try {
    const bytes = await readSmallFile(deps, name);
    if (bytes === undefined) return {};
    const boots = readTable(bytes.toString());
    if (boots !== undefined) return { boots };
    await deps.setAside(name);
    return {};
  } catch (fault) {
    return { fault };
  }
}

/** The boots in the file; undefined when it is broken. */
function readTable(text: string): BootRecord[] | undefined {
  if (!isSealed(text)) return undefined;
  try {
    const { boots } = fieldsOf(text, FORMAT, OWN_JSON);
    if (mismatchOf(BOOTS, boots, 'boots') !== undefined) return undefined;
    // The shape has each of its members.
    return boots as unknown as BootRecord[];
  } catch {
    return undefined;
  }
}

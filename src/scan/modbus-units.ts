/**
 * Modbus units behind one connection: who answers, what each tells of itself, and which models it may be. Units are only read, by functions 1 to 4,
 * 17 and 43, and after a lost answer asked to send a number back (8).
 */
import type { Model } from '../config/models/model-file.ts';
import { hasCode, messageOf } from '../errors/agent-error.ts';
import type { ModbusConnection, ModbusIdentity, ModbusLink } from '../hardware/modbus-port.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { likelyModels, type ModelGuess } from './modbus-models.ts';

/** Looking for the models of one unit ends after this long; some are silent instead of refusing. */
const MAX_UNIT_MS = 60_000;
export const USUAL_UNITS: readonly number[] = Array.from({ length: 32 }, (_, at) => at + 1);
/** Faults that a unit itself has answered, and those of units that are not there or are spoken to at another speed. */
const ANSWERS = ['hardware/modbus-exception', 'hardware/modbus-busy', 'hardware/modbus-working'] as const;
const SILENCES = ['hardware/deadline', 'hardware/modbus-no-answer', 'hardware/modbus-bad-answer'] as const;
/** Places where a SunSpec map may begin, and its first registers, "SunS"; 4 behind them stand maker and product, 16 registers each. */
const SUNSPEC_PLACES = [40_000, 0, 50_000];
const SUNSPEC_MARK = [0x5375, 0x6e53];

export interface FoundUnit {
  readonly unitId: number;
  readonly connection: ModbusConnection;
  readonly identity: ModbusIdentity;
  readonly models: readonly ModelGuess[];
}

interface FoundIds {
  readonly unitIds: readonly number[];
  /** How many of them answered alike, and are one; 0 where none did. */
  readonly alike: number;
}

/** Returns the numbers of the units that answer. When most numbers of a host give the same answer, it is one device that looks at no number. */
export async function searchUnits(
  link: ModbusLink,
  connection: ModbusConnection,
  units: readonly number[],
  { onProgress }: { readonly onProgress?: (done: number, found: number) => void },
  signal: AbortSignal,
): Promise<FoundIds> {
  const answers: { readonly unitId: number; readonly answer: string }[] = [];
  for (const [at, unitId] of units.entries()) {
    onProgress?.(at, answers.length);
    const answer = await firstAnswer(link, unitId, signal);
    if (answer !== undefined) answers.push({ unitId, answer });
  }
  const alike = [...Map.groupBy(answers, ({ answer }) => answer).values()].find(
    (same) => 'host' in connection && same.length > 1 && same.length > units.length / 2,
  );
  if (alike === undefined) return { unitIds: answers.map(({ unitId }) => unitId), alike: 0 };
  const apart = answers.filter((one) => one === alike[0] || !alike.includes(one));
  return { unitIds: apart.map(({ unitId }) => unitId), alike: alike.length };
}

/** Returns the registers or the refusal that a unit answers with; nothing where none does. @throws AgentError of the port. */
async function firstAnswer(link: ModbusLink, unitId: number, signal: AbortSignal): Promise<string | undefined> {
  for (const table of ['holding', 'input'] as const) {
    try {
      return `${table} ${await link.readRegisters(unitId, { table, address: 0, count: 1 }, signal)}`;
    } catch (fault) {
      if (ANSWERS.some((code) => hasCode(fault, code))) return messageOf(fault);
      if (signal.aborted || !SILENCES.some((code) => hasCode(fault, code))) throw fault;
    }
  }
  return undefined;
}

/** Returns what a unit tells of itself; nothing where it does not. */
async function identityOf(link: ModbusLink, unitId: number, signal: AbortSignal): Promise<ModbusIdentity> {
  const words = (address: number, count: number): Promise<readonly number[]> =>
    link.readRegisters(unitId, { table: 'holding', address, count }, signal).catch(() => []);
  for (const at of SUNSPEC_PLACES) {
    const mark = await words(at, 2);
    if (SUNSPEC_MARK.some((word, index) => mark[index] !== word)) continue;
    const text = Buffer.from((await words(at + 4, 32)).flatMap((word) => [word >> 8, word & 0xff])).toString('latin1');
    const field = (from: number): string =>
      text
        .slice(from, from + 32)
        .replace(/\0.*$/s, '')
        .trim();
    return { maker: field(0), product: field(32), revision: `(SunSpec at ${at})` };
  }
  return await link.identify(unitId, signal).catch(() => ({}));
}

/** Returns what a unit is, as far as it could be found out in its time or until the signal aborts. */
export async function lookAtUnit(
  link: ModbusLink,
  {
    connection,
    unitId,
    models: known,
  }: Pick<FoundUnit, 'connection' | 'unitId'> & { readonly models: readonly Model[] },
  clock: Clock,
  signal: AbortSignal,
): Promise<FoundUnit> {
  const identity = await identityOf(link, unitId, signal);
  const ask = (within: AbortSignal) => likelyModels({ link, unitId, identity }, known, within);
  const models = await withinMs(clock, MAX_UNIT_MS, ask, signal);
  return { unitId, connection, identity, models };
}

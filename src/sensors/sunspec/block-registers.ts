/** Registers of found blocks as a Modbus sensor has them: each number with the place of its scale factor and its mark of none. */
import { MEASUREMENT_UNITS } from '../../config/fields/measurement-keys.ts';
import type { FoundBlock } from './block-search.ts';
import { BLOCKS, type Block, type Point, type PointType, UNITS } from './blocks.ts';

/** Options of a register, by key. */
export type BlockRegisters = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** More trackers than any inverter has. */
const MAX_REPEATED = 32;

/** Marks of points that are not implemented (information model specification, "Defined Unimplemented Values"). */
const TYPES: Readonly<Record<PointType, Readonly<Record<string, unknown>>>> = {
  uint16: { type: 'uint16', noValue: 0xffff },
  int16: { type: 'int16', noValue: 0x8000 },
  enum16: { type: 'uint16', noValue: 0xffff },
  acc32: { type: 'uint32', noValue: 0 },
  acc64: { type: 'uint64', noValue: 0 },
  bitfield32: { type: 'uint32', noValue: 0xffff_ffff },
  float32: { type: 'float32' },
  text16: { type: 'string', length: 16, map: { '': null } },
};

/** Options of the registers of these blocks. A key that a block before gives has the number of the block after it: `_203`, of the next such `_203_2`. */
export function registersOf(blocks: readonly FoundBlock[]): BlockRegisters {
  const registers: Record<string, Readonly<Record<string, unknown>>> = {};
  const seen = new Map<number, number>();
  for (const found of blocks) {
    const { id, length } = found;
    const time = (seen.get(id) ?? 0) + 1;
    seen.set(id, time);
    for (const [key, point] of Object.entries(pointsOf(found))) {
      if (point[0] + widthOf(point[1]) > length + 2) continue;
      registers[registers[key] === undefined ? key : `${key}_${id}${time > 1 ? `_${time}` : ''}`] = registerAt(
        found,
        key,
        point,
      );
    }
  }
  return registers;
}

function registerAt(
  { address }: FoundBlock,
  key: string,
  [place, type, factorAt, scale = 1]: Point,
): Readonly<Record<string, unknown>> {
  const unit = MEASUREMENT_UNITS[key] ?? MEASUREMENT_UNITS[key.replace(/\d+$/, '')] ?? UNITS[key];
  return {
    ...TYPES[type],
    address: address + place,
    ...(scale !== 1 && { scale }),
    ...(factorAt !== undefined && { scaleFrom: address + factorAt }),
    ...(typeof unit === 'string' && { unit }),
  };
}

function pointsOf({ id, length }: FoundBlock): Block['points'] {
  const block: Block | undefined = (BLOCKS as Readonly<Record<number, Block>>)[id];
  if (block?.repeated === undefined) return block?.points ?? {};
  const { from, length: step, points } = block.repeated;
  const times = Math.min(MAX_REPEATED, Math.floor((length + 2 - from) / step));
  const all = Array.from({ length: times }, (_, at) =>
    Object.entries(points).map(
      ([key, [place, ...rest]]) => [`${key}${at + 1}`, [from + at * step + place, ...rest] as Point] as const,
    ),
  );
  return { ...block.points, ...Object.fromEntries(all.flat()) };
}

function widthOf(type: PointType): number {
  const widths: Partial<Record<PointType, number>> = { acc32: 2, bitfield32: 2, float32: 2, acc64: 4, text16: 16 };
  return widths[type] ?? 1;
}

/**
 * A device that shows one number under several keys, of which each but the first is converted, and values that are made of them, in a share of all
 * worlds. Drawn apart from everything else, so that whatever a seed draws stays as it was.
 */
import type { BoardConfigInput } from '../../src/stand-ins/simulated-board/board-config.ts';
import { Chance } from './chance.ts';

const SHARE_OF_WORLDS = 0.35;
const PORT = '/dev/ttyUSB9';
/** It speaks by itself. */
const PERIOD_S = 10;
/** Shows whole numbers from 0 to this, and falls back; they fit into 12 bits. */
const GREATEST = 4_000;
export const CONVERTER = 'converter';
/** The key that is reported as it came. */
export const COUNT = 'count';

/** Value that the model expects of what came. */
type Model = (count: number) => number | string;

interface ConvertedKey {
  /** Words of the configuration. */
  readonly words: string;
  readonly model: Model;
}

/** Keys by name, with the words of the configuration and what these mean. */
export const CONVERTED: Readonly<Record<string, ConvertedKey>> = {
  scaled: { words: 'scale: 0.1, offset: -5', model: (count) => (count - 50) / 10 },
  bent: {
    words: 'table: [[0, 0], [1000, 100], [4000, 160]]',
    model: (count) => (count <= 1_000 ? count / 10 : 100 + (count - 1_000) / 50),
  },
  gear: {
    words: 'mask: 12, shift: 2, map: { "0": idle, "1": slow, "2": fast, "3": top }',
    model: (count) => ['idle', 'slow', 'fast', 'top'][(count >> 2) % 4] ?? '',
  },
  paired: { words: 'bits: 12, signed: true', model: (count) => (count > 2_047 ? count - 4_096 : count) },
};

/** Values of these keys at one time, and of `count` at the time before. */
interface Inputs {
  readonly count: number;
  readonly scaled: number;
  readonly bent: number;
  readonly before: number | undefined;
}

interface MadeKey {
  readonly expression: string;
  readonly model: (inputs: Inputs) => number | undefined;
}

/** Keys that are made of others. */
export const MADE: Readonly<Record<string, MadeKey>> = {
  twice: { expression: 'count * 2', model: ({ count }) => count * 2 },
  blend: {
    expression: 'round(scaled + bent / 2, 2)',
    model: ({ scaled, bent }) => Math.round(scaled * 100 + bent * 50) / 100,
  },
  above: { expression: 'twice - count * 0.5', model: ({ count }) => count * 1.5 },
  step: {
    expression: 'difference(count)',
    model: ({ count, before }) => (before === undefined ? undefined : count - before),
  },
};

export function hasMeasures(seed: number): boolean {
  return new Chance(`measures ${seed}`).happens(SHARE_OF_WORLDS);
}

/** Lines of the configuration's sensors. */
export function measureLines(): readonly string[] {
  const keys = Object.entries(CONVERTED).map(([key, { words }]) => `${key}: { ${words} }`);
  const values = Object.entries(MADE).map(([key, { expression }]) => `${key}: "${expression}"`);
  return [
    `  - { name: ${CONVERTER}, period: ${PERIOD_S}s, kind: serial-line, port: ${PORT}, format: json, keys: { ${keys.join(', ')} } }`,
    `  - { name: made, period: ${PERIOD_S}s, kind: derived, values: { ${values.join(', ')} } }`,
  ];
}

/** The board with what the device says: the same number under each key. */
export function withMeasures(board: BoardConfigInput): BoardConfigInput {
  const shown = { signal: { kind: 'ramp', from: 0, to: GREATEST, periodMs: 3_600_000 }, digits: 0 } as const;
  const values = Object.fromEntries([COUNT, ...Object.keys(CONVERTED)].map((key) => [key, shown]));
  const serial = (board.serial ?? []).map((port) =>
    port.port === PORT && port.talk.kind === 'lines'
      ? { ...port, talk: { ...port.talk, periodMs: PERIOD_S * 1_000, values } }
      : port,
  );
  return { ...board, serial };
}

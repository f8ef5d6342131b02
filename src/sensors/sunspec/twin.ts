/** Twin on a simulated board: a three-phase inverter with the blocks 1 and 103, after the tables of SunSpec. */
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import type { SunspecConfig } from './definition.ts';

const COMMON_LENGTH = 66;
const INVERTER_LENGTH = 50;
const NONE = 0xffff;

export const twin: Twin = {
  fitting: ({ base = 40_000 }: SunspecConfig) => {
    const inverter = [
      ...[
        103,
        INVERTER_LENGTH,
        120,
        40,
        40,
        40,
        0xffff,
        NONE,
        NONE,
        NONE,
        2301,
        2302,
        2303,
        0xffff,
        2760,
        0,
        5000,
        0xfffe,
      ],
      ...[
        2761,
        0,
        12,
        0,
        9990,
        0xfffe,
        0,
        43_210,
        2,
        41,
        0xffff,
        6802,
        0xffff,
        2810,
        0,
        352,
        0x8000,
        0x8000,
        0x8000,
        0xffff,
        4,
        NONE,
      ],
    ];
    const words = [
      ...[
        0x5375,
        0x6e53,
        1,
        COMMON_LENGTH,
        ...text('Turnstone', 16),
        ...text('twin', 16),
        ...text('', 16),
        ...text('0001', 16),
        1,
        NONE,
      ],
      ...inverter,
      ...Array.from({ length: INVERTER_LENGTH + 2 - inverter.length }, () => 0),
      ...[0xffff, 0],
    ];
    return { holding: Object.fromEntries(words.map((word, at) => [base + at, { kind: 'constant', value: word }])) };
  },
};

function text(letters: string, registers: number): readonly number[] {
  const bytes = Buffer.from(letters.padEnd(2 * registers, '\0'), 'latin1');
  return Array.from({ length: registers }, (_, at) => bytes.readUInt16BE(2 * at));
}

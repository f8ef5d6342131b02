/** Twin on a simulated board's port: a module of fifteen cells, or a stack of two, put together after the protocol. */
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import type { PylontechConfig } from './definition.ts';

/** Fifteen cells of 3.3 V, 21 °C and four of 20 °C, -3.5 A, 49.5 V, and 75.6 of 100 Ah in three bytes, after 12 cycles. */
const MODULE = `0f${'0ce4'.repeat(15)}05${'0b7d'}${'0b73'.repeat(4)}ffdd c15c ffff04ffff000c 012750 0186a0`.replaceAll(
  ' ',
  '',
);

export const twin: Twin = {
  fitting: ({ address, group, stack }: PylontechConfig) => {
    const place = byte((group << 4) | address);
    const answer = stack ? `0002${MODULE}${MODULE}` : `00${place}${MODULE}`;
    return {
      talk: {
        kind: 'answers',
        answers: { [frame(`20${place}4642`, stack ? 'ff' : place)]: frame(`20${place}4600`, answer) },
      },
    };
  },
};

/** The frame of these hexadecimal letters, as bytes in hexadecimal. */
function frame(head: string, information: string): string {
  const length = information.length.toString(16).padStart(3, '0');
  const nibbles = [...length].reduce((sum, letter) => sum + Number.parseInt(letter, 16), 0);
  const letters = `${head}${((16 - (nibbles % 16)) % 16).toString(16)}${length}${information}`.toUpperCase();
  const sum = [...Buffer.from(letters)].reduce((total, letter) => total + letter, 0);
  return Buffer.from(
    `~${letters}${(0x10000 - (sum % 0x10000)).toString(16).toUpperCase().padStart(4, '0')}\r`,
  ).toString('hex');
}

function byte(value: number): string {
  return value.toString(16).padStart(2, '0');
}

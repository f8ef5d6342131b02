/** Colour for people: on a terminal only, and not when NO_COLOR is set (no-color.org). */
import type { Environment } from '../host/environment.ts';
import type { Output } from './edge.ts';

const ESCAPE = '\u001b';
const CODES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] } as const;

/** What the functions below put into a text. */
export const COLOUR = new RegExp(`${ESCAPE}\\[\\d+m`, 'g');

export type Style = { readonly [name in keyof typeof CODES]: (text: string) => string };

/** Functions that colour a text, or leave it alone where colours are not wanted. */
export function styleFor(output: Output, environment: Environment): Style {
  const noColor = environment.NO_COLOR !== undefined && environment.NO_COLOR !== '';
  const wanted = output.isTerminal && !noColor && environment.TERM !== 'dumb';
  const paint = ([on, off]: readonly [number, number]) =>
    wanted ? (text: string) => `${ESCAPE}[${on}m${text}${ESCAPE}[${off}m` : (text: string) => text;
  return {
    bold: paint(CODES.bold),
    dim: paint(CODES.dim),
    red: paint(CODES.red),
    green: paint(CODES.green),
    yellow: paint(CODES.yellow),
    cyan: paint(CODES.cyan),
  };
}

/** Lines of such texts, on their way to a terminal or to a program; that gets them as they are. */
export function linesFor(output: Pick<Output, 'isTerminal'>, text: string): string {
  return output.isTerminal ? text.replace(/[^\r\n]+/g, printable) : text;
}

/** What a text from elsewhere may do to a terminal: nothing. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (character) => (character === '\n' || character === '\t' ? ' ' : '�'));
}

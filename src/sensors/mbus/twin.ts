/** Twin on a simulated board's port: a heat meter with one telegram, put together after EN 13757-2 and -3. */
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import type { MbusConfig } from './definition.ts';

const ACKNOWLEDGED = 'e5';
/** The number 00000042, the maker TST, version 1, heat. */
const HEADER = '42000000 7452 01 04 00 00 0000';
/** 1234 kWh, 56.78 m³, 2.5 kW, 65.5 °C and 40.2 °C. */
const RECORDS = '0406d2040000 0c1380670500 022b c409 025a8f02 025e9201';

export const twin: Twin = {
  fitting: ({ address }: MbusConfig) => {
    const place = typeof address === 'number' ? address : 0xfd;
    const select = typeof address === 'number' ? {} : { [long(`73fd52${reversed(address)}ffffffff`)]: ACKNOWLEDGED };
    const answer = long(`08 ${byte(typeof address === 'number' ? address : 1)} 72 ${HEADER} ${RECORDS}`);
    const requests = { [short('40', place)]: ACKNOWLEDGED, [short('7b', place)]: answer, [short('5b', place)]: answer };
    return { talk: { kind: 'answers', answers: { ...select, ...requests } } };
  },
};

function short(control: string, address: number): string {
  const content = control + byte(address);
  return `10${content}${sum(content)}16`;
}

function long(spaced: string): string {
  const content = spaced.replaceAll(' ', '').toLowerCase();
  const length = byte(content.length / 2);
  return `68${length}${length}68${content}${sum(content)}16`;
}

function sum(content: string): string {
  return byte([...Buffer.from(content, 'hex')].reduce((total, one) => (total + one) & 0xff, 0));
}

function byte(value: number): string {
  return value.toString(16).padStart(2, '0');
}

function reversed(digits: string): string {
  return Buffer.from(digits, 'hex').reverse().toString('hex');
}

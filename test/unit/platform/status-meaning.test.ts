/** One meaning for each status, and what each caller asks of it. */
import { expect, it } from 'vitest';
import {
  asksForLess,
  isGatewayFault,
  isNoNews,
  isTimedOut,
  mayPass,
  meaningOf,
  refusesDevice,
} from '../../../src/platform/status-meaning.ts';

const ALL = Array.from({ length: 500 }, (_, at) => at + 100);
const those = (is: (status: number) => boolean): readonly number[] => ALL.filter(is);

it('is told of each status, by its class where it has no meaning of its own', () => {
  expect([204, 302, 418, 501].map(meaningOf)).toEqual(['done', 'elsewhere', 'refused', 'server-fault']);
  expect([401, 403, 404, 413, 422].map(meaningOf)).toEqual([
    'not-known',
    'not-allowed',
    'not-there',
    'too-large',
    'bad-request',
  ]);
});

it('answers each question with the statuses that it is about, and no others', () => {
  expect(those(isGatewayFault)).toEqual([502, 503, 504]);
  expect(those(refusesDevice)).toEqual([401, 403, 404]);
  expect(those(isNoNews)).toEqual([408, 503, 504]);
  expect(those(isTimedOut)).toEqual([408, 504]);
  expect(those(asksForLess)).toEqual([429, 503]);
  expect(those(mayPass)).toEqual([408, 425, 429, ...ALL.filter((status) => status >= 500)]);
});

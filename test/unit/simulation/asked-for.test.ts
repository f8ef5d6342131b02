/** Options of `npm run simulate`, as its command line gives them. */
import { expect, it } from 'vitest';
import { askedFor } from '../../simulation/asked-for.ts';

it('is its usage, by name or for an option that there is not', () => {
  for (const word of ['--help', '-h'])
    expect(askedFor([word])).toEqual({ usage: expect.stringMatching(/^npm run simulate -- /), exitCode: 0 });
  expect(askedFor(['--sed', '5'])).toEqual({
    usage: expect.stringMatching(/^Unknown option '--sed'.*npm run simulate -- /s),
    exitCode: 64,
  });
  expect(askedFor(['seven'])).toMatchObject({ exitCode: 64 });
});

it('is worlds by their seeds', () => {
  expect(askedFor(['--seed', '7', '--trace'])).toMatchObject({ values: { seed: '7', trace: true, workers: '2' } });
});

/** Options of `npm run simulate`, or its usage for who asks for it or gives an option that there is not. */
import { parseArgs } from 'node:util';

const USAGE = `npm run simulate -- --seeds 300 [--from N] [--hours H] [--workers 2] [--json]   seeds that the ledger does not have yet
npm run simulate -- --long --seeds 4                                            weeks and years, with sensors that are read by the hour
npm run simulate -- --sample [--minutes M]                                      what CI has time for: regressions, seeds new to this \`src\`, the first ones
npm run simulate -- --seed N [--without "a,b"] [--trace] [--short]              one world; no such troubles; its story; only the parts that matter
`;

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  seeds: { type: 'string', default: '30' },
  from: { type: 'string', default: '1' },
  seed: { type: 'string' },
  hours: { type: 'string' },
  troubles: { type: 'string' },
  only: { type: 'string' },
  without: { type: 'string' },
  workers: { type: 'string', default: '2' },
  minutes: { type: 'string' },
  json: { type: 'boolean', default: false },
  trace: { type: 'boolean', default: false },
  sample: { type: 'boolean', default: false },
  long: { type: 'boolean', default: false },
  short: { type: 'boolean', default: false },
  again: { type: 'boolean', default: false },
} as const;

type Options = ReturnType<typeof parseArgs<{ readonly options: typeof OPTIONS }>>['values'];

export function askedFor(
  args: readonly string[],
): { readonly values: Options } | { readonly usage: string; readonly exitCode: number } {
  try {
    const { values } = parseArgs({ args: [...args], options: OPTIONS });
    return values.help ? { usage: USAGE, exitCode: 0 } : { values };
  } catch (error) {
    return { usage: `${(error as Error).message}\n\n${USAGE}`, exitCode: 64 };
  }
}

/** Figures that lab tests measured, gathered over guests and processes: one JSON line each in the file that LAB_FIGURES names. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

const Figure = z.union([
  z.strictObject({ name: z.literal('boot'), value: z.strictObject({ seconds: z.number() }) }),
  z.strictObject({
    name: z.literal('cuts'),
    value: z.strictObject({ during: z.string(), cuts: z.number(), losses: z.number() }),
  }),
  z.strictObject({
    name: z.literal('configurations'),
    value: z.strictObject({ changes: z.number(), lockedOut: z.number() }),
  }),
  z.strictObject({ name: z.literal('edges'), value: z.strictObject({ made: z.number(), counted: z.number() }) }),
  z.strictObject({ name: z.literal('exposure'), value: z.strictObject({ unit: z.string(), exposure: z.number() }) }),
  z.strictObject({
    name: z.literal('rpcLatency'),
    value: z.strictObject({ disk: z.string(), calls: z.number(), medianMs: z.number(), worstMs: z.number() }),
  }),
  z.strictObject({
    name: z.literal('replay'),
    value: z.strictObject({ of: z.string(), flushes: z.number(), promised: z.number(), losses: z.number() }),
  }),
]);
export type Figure = z.infer<typeof Figure>;
type ValueOf<N extends Figure['name']> = Extract<Figure, { name: N }>['value'];

export function recordFigure<N extends Figure['name']>(name: N, value: ValueOf<N>): void {
  const file = process.env.LAB_FIGURES;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ name, value })}\n`);
}

export function readFigures(file: string): readonly Figure[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Figure.parse(JSON.parse(line)));
}

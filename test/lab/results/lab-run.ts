/** The result file of a whole lab run, from which the table in docs/testing.md is made. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Figure } from './figures.ts';

export const RESULT_FILE = join(import.meta.dirname, '../last-run.json');

const labRunSchema = z.strictObject({
  format: z.literal('turnstone-lab-run'),
  version: z.literal(1),
  commit: z.string(),
  /** True when the checkout differed from that commit. */
  changed: z.boolean(),
  date: z.iso.date(),
  minutes: z.number(),
  machine: z.string(),
  tests: z.strictObject({ passed: z.number(), failed: z.number(), skipped: z.number() }),
  boots: z.number(),
  cuts: z.array(z.strictObject({ during: z.string(), cuts: z.number(), losses: z.number() })),
  configurations: z.array(z.strictObject({ changes: z.number(), lockedOut: z.number() })).default([]),
  replays: z.array(z.strictObject({ of: z.string(), flushes: z.number(), promised: z.number(), losses: z.number() })),
  edges: z.strictObject({ made: z.number(), counted: z.number() }),
  exposure: z.array(z.strictObject({ unit: z.string(), exposure: z.number() })),
  rpcLatency: z.array(
    z.strictObject({ disk: z.string(), calls: z.number(), medianMs: z.number(), worstMs: z.number() }),
  ),
});
export type LabRun = z.infer<typeof labRunSchema>;

export function gather(
  about: Pick<LabRun, 'commit' | 'changed' | 'date' | 'minutes' | 'machine' | 'tests'>,
  figures: readonly Figure[],
): LabRun {
  const of = <N extends Figure['name']>(name: N) =>
    figures
      .filter((figure): figure is Extract<Figure, { name: N }> => figure.name === name)
      .map(({ value }) => value as never);
  const edges = of('edges') as LabRun['edges'][];
  return labRunSchema.parse({
    format: 'turnstone-lab-run',
    version: 1,
    ...about,
    boots: figures.filter(({ name }) => name === 'boot').length,
    cuts: of('cuts'),
    configurations: of('configurations'),
    replays: of('replay'),
    edges: {
      made: edges.reduce((sum, { made }) => sum + made, 0),
      counted: edges.reduce((sum, { counted }) => sum + counted, 0),
    },
    exposure: of('exposure'),
    rpcLatency: of('rpcLatency'),
  });
}

export async function readLabRun(): Promise<LabRun> {
  return labRunSchema.parse(JSON.parse(await readFile(RESULT_FILE, 'utf8')));
}

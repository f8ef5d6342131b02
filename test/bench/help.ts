/**
 * Time of `turnstone --help`, from the sources and from a release's bundle, beside an empty script of the same Node.
 *
 *   npm run bench:help [-- --json] [-- --runs 15]
 *
 * Each run starts all of them once, in turn, so that a busy machine is busy for all; medians. A first run of each warms the compile cache.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BUNDLE, buildBundle, ownNativeModules, ROOT } from '../../scripts/bundle.ts';

const { values: flags } = parseArgs({
  options: { json: { type: 'boolean', default: false }, runs: { type: 'string', default: '15' } },
});
const folder = await mkdtemp(join(tmpdir(), 'turnstone-help-'));
try {
  await buildBundle(ownNativeModules());
  await writeFile(join(folder, 'empty.mjs'), '');
  const node = process.execPath;
  const programs = {
    emptyMs: [node, join(folder, 'empty.mjs')],
    helpMs: [join(BUNDLE, 'turnstone'), '--help'],
    helpInCheckoutMs: [node, join(ROOT, 'src/main.ts'), '--help'],
  } as const;
  const times = new Map(Object.keys(programs).map((name) => [name, [] as number[]]));
  for (let run = 0; run <= Number(flags.runs); run += 1) {
    for (const [name, [program, ...words]] of Object.entries(programs)) {
      const startMs = performance.now();
      const { status } = spawnSync(program, words, { stdio: 'ignore' });
      if (status !== 0) throw new Error(`${program} ended with ${status}`);
      if (run > 0) times.get(name)?.push(performance.now() - startMs);
    }
  }
  const median = (name: string): number => {
    const own = (times.get(name) ?? []).toSorted((a, b) => a - b);
    return Math.round(own[Math.floor(own.length / 2)] ?? Number.NaN);
  };
  const [emptyMs, helpMs, helpInCheckoutMs] = [median('emptyMs'), median('helpMs'), median('helpInCheckoutMs')];
  const ratio = Math.round((100 * helpMs) / emptyMs) / 100;
  if (flags.json) console.log(JSON.stringify({ emptyMs, helpMs, helpInCheckoutMs, helpOverEmpty: ratio }));
  else
    console.log(
      [
        ['an empty script', `${emptyMs} ms`],
        ['turnstone --help, as a release has it', `${helpMs} ms, ${ratio} times as long`],
        ['turnstone --help, from the sources', `${helpInCheckoutMs} ms`],
      ]
        .map(([what = '', value = '']) => `${what.padEnd(40)}${value}`)
        .join('\n'),
    );
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** A program of the tests as one file with its compiled code at hand: a process that is to be killed hundreds of times must start fast. */
import { basename, dirname, join } from 'node:path';
import { build } from 'esbuild';

/** Resolves to the program's path in the folder, which goes with it. */
export async function bundleChild(entryPoint: string, folder: string): Promise<string> {
  const outfile = join(folder, `${basename(entryPoint, '.ts')}.mjs`);
  await build({
    entryPoints: [entryPoint],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    logLevel: 'error',
    // For packages that are not modules of this kind.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  return outfile;
}

export function bundledEnvironment(program: string): NodeJS.ProcessEnv {
  return { ...process.env, NODE_COMPILE_CACHE: join(dirname(program), 'compile-cache') };
}

/** A program of the tests bundled as the agent is, with its compiled code at hand: what is to be killed again and again must start fast. */
import { basename, dirname, join } from 'node:path';
import { bundleFile } from '../../scripts/bundle.ts';

/** Resolves to the program's path in the folder, which goes with it. */
export async function bundleChild(entryPoint: string, folder: string): Promise<string> {
  const outfile = join(folder, `${basename(entryPoint, '.ts')}.mjs`);
  await bundleFile(entryPoint, outfile, '0.0.0');
  return outfile;
}

export function bundledEnvironment(program: string): NodeJS.ProcessEnv {
  return { ...process.env, NODE_COMPILE_CACHE: join(dirname(program), 'compile-cache') };
}

/** View that another process of the same user has of this one. */
import { execFile } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const NOBODY = 65_534;

const script = (module: string): string => `
  import { execFileSync } from 'node:child_process';
  import { readFileSync } from 'node:fs';
  import { hideProcess } from '${module}';
  const seen = () => {
    try {
      return execFileSync('/bin/sh', ['-c', 'cat /proc/$PPID/environ'], { env: {}, stdio: ['ignore', 'pipe', 'ignore'] })
        .includes('SECRET=42');
    } catch {
      return false;
    }
  };
  const before = seen();
  hideProcess();
  const child = execFileSync('/bin/cat', ['/proc/self/environ'], { env: { MARK: 'x' } }).toString();
  const own = readFileSync('/proc/self/status', 'utf8').includes('VmRSS') && process.memoryUsage().rss > 0;
  console.log(JSON.stringify({ before, after: seen(), own, child }));
`;

it('is its variables until it hides them; its children and its own look at itself go on', async () => {
  const module = pathToFileURL(`${import.meta.dirname}/hide-process.ts`).href;
  // Root reads whatever there is.
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', script(module)],
    Object.assign({ env: { SECRET: '42' }, cwd: '/' }, user),
  );
  expect(JSON.parse(stdout)).toEqual({ before: true, after: false, own: true, child: 'MARK=x\0' });
});

/** Where a folder can be made and written in, told before anything is: what stands in the way is the configuration's fault, not the disk's. */
import { lstat, realpath, stat, statfs } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { systemCode } from '../errors/agent-error.ts';

/** sockaddr_un holds 108 bytes with the closing zero (unix(7)). */
export const MAX_SOCKET_PATH_BYTES = 107;

/** NAME_MAX and PATH_MAX of Linux; what lies within the folder has names of its own. */
const MAX_NAME_BYTES = 255;
const MAX_FOLDER_BYTES = 4_095 - 256;
/** The kernel's own, by the magic number of statfs(2): proc, sysfs, cgroup, cgroup2, devpts, debugfs, tracefs, configfs, securityfs, bpf. */
const NO_DISK: ReadonlySet<number> = new Set([
  0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x1cd1, 0x64626720, 0x74726163, 0x62656570, 0x73636673, 0xcafe4a11,
]);

/** Why there can be no folder of this path, in words that follow "expected"; undefined when there is one or it can be made. */
export async function whyNoFolder(path: string): Promise<string | undefined> {
  if (Buffer.byteLength(path) > MAX_FOLDER_BYTES) return `a path of at most ${MAX_FOLDER_BYTES} bytes`;
  if (path.split('/').some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES))
    return `names of at most ${MAX_NAME_BYTES} bytes`;
  for (let at = path; ; at = dirname(at)) {
    try {
      if (!(await stat(at)).isDirectory())
        return at === path ? 'a folder, and this is a file' : `a folder; ${at} is a file`;
      return NO_DISK.has((await statfs(at)).type) ? "a folder on a disk; the kernel's own takes no files" : undefined;
    } catch (error) {
      const code = systemCode(error);
      if (code === 'ELOOP' || (await isLink(at))) return `a folder; ${at} is a link to nothing`;
      // Whoever may not look cannot say that it is wrong.
      if ((code !== 'ENOENT' && code !== 'ENOTDIR') || at === dirname(at)) return undefined;
    }
  }
}

/** The same place without links, as far as it is there: /var/run is /run. */
export async function placeBehindLinks(path: string): Promise<string> {
  if (Buffer.byteLength(path) > MAX_FOLDER_BYTES) return path;
  for (let at = path; ; at = dirname(at)) {
    const behind = await realpath(at).catch(() => undefined);
    if (behind !== undefined) return join(behind, relative(at, path));
    if (at === dirname(at)) return path;
  }
}

/** Called only when what it leads to is not there. */
async function isLink(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;
}

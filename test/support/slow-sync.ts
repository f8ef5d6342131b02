/** A process in which every fsync, fdatasync and synced write takes as long as on a card that hangs: in the thread that asks, as in life. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Resolves to the environment for such a process. */
export async function slowSync(folder: string, delayMs: number): Promise<Readonly<Record<string, string>>> {
  const source = join(folder, 'slow-sync.c');
  const library = join(folder, 'slow-sync.so');
  await writeFile(
    source,
    `#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int fsync(int fd) { usleep(${delayMs * 1000}); return syscall(SYS_fsync, fd); }
int fdatasync(int fd) { usleep(${delayMs * 1000}); return syscall(SYS_fdatasync, fd); }
static void hang(int fd) { if (fcntl(fd, F_GETFL) & O_DSYNC) usleep(${delayMs * 1000}); }
ssize_t pwrite64(int fd, const void *from, size_t count, off_t at) { hang(fd); return syscall(SYS_pwrite64, fd, from, count, at); }
ssize_t pwrite(int fd, const void *from, size_t count, off_t at) { return pwrite64(fd, from, count, at); }
`,
  );
  await promisify(execFile)('g++', ['-x', 'c', '-shared', '-fPIC', '-o', library, source]);
  return { LD_PRELOAD: library };
}

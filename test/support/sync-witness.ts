/** A process whose kernel calls that make things durable are written down, by a library between it and the C library. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Runs a script with the project's Node and resolves with what was synced, in order: `fsync /tmp/x`. */
export async function witnessSyncs(folder: string, script: string): Promise<readonly string[]> {
  const source = join(folder, 'witness.c');
  const library = join(folder, 'witness.so');
  const record = join(folder, 'syncs');
  await writeFile(
    source,
    `#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static void note(const char *what, int fd) {
  char link[64], path[4096], line[4200];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  snprintf(line, sizeof line, "%s %s\\n", what, path);
  int record = open("${record}", O_WRONLY | O_CREAT | O_APPEND, 0600);
  syscall(SYS_write, record, line, strlen(line));
  close(record);
}
extern "C" {
int fsync(int fd) { note("fsync", fd); return syscall(SYS_fsync, fd); }
int fdatasync(int fd) { note("fdatasync", fd); return syscall(SYS_fdatasync, fd); }
ssize_t pwrite64(int fd, const void *from, size_t count, off_t at) {
  if (fcntl(fd, F_GETFL) & O_DSYNC) note("synced-write", fd);
  return syscall(SYS_pwrite64, fd, from, count, at);
}
ssize_t pwrite(int fd, const void *from, size_t count, off_t at) { return pwrite64(fd, from, count, at); }
}
`,
  );
  await promisify(execFile)('g++', ['-x', 'c++', '-fpermissive', '-w', '-shared', '-fPIC', '-o', library, source]);
  await writeFile(record, '');
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, LD_PRELOAD: library },
  });
  return (await readFile(record, 'utf8')).trim().split('\n');
}

/** Raw disk images for guests. */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export class DiskFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<DiskFolder> {
    return new DiskFolder(await mkdtemp(join(tmpdir(), 'lab-disks-')));
  }

  async empty(name: string, megabytes: number): Promise<string> {
    const path = join(this.path, name);
    await writeFile(path, '');
    await truncate(path, megabytes * 1024 * 1024);
    return path;
  }

  /** An image with an ext4 file system as Debian makes it. */
  async ext4(name: string, megabytes: number): Promise<string> {
    const path = await this.empty(name, megabytes);
    await execute('mkfs.ext4', ['-q', '-F', path]);
    return path;
  }

  async copy(from: string, name: string): Promise<string> {
    const path = join(this.path, name);
    await copyFile(from, path);
    return path;
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

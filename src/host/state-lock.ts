/** One agent per state folder: an exclusive lock that the kernel releases when the process ends, however it ends. */
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError, systemCode } from '../errors.ts';
import { nativeAddon } from './native-addon.ts';

interface LockAddon {
  lockFile(fd: number): boolean;
}

export class StateLock {
  readonly #file: FileHandle;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /**
   * Takes the lock of a state folder, which must exist.
   * @throws AgentError `host/already-running` (stop) when another process holds it, `host/write-failed` (stop) when the folder cannot be written.
   */
  static async take(folder: string): Promise<StateLock> {
    const path = join(folder, 'agent.lock');
    const file = await open(path, 'a+', 0o640).catch((cause: unknown) => {
      throw new AgentError('host/write-failed', `cannot write in the state folder ${folder}: ${systemCode(cause)}`, {
        recovery: 'stop',
        cause,
      });
    });
    if (nativeAddon<LockAddon>().lockFile(file.fd)) {
      await file.truncate(0);
      await file.write(`${process.pid}\n`);
      return new StateLock(file);
    }
    const holder = (await file.readFile('utf8').catch(() => '')).trim();
    await file.close();
    throw new AgentError(
      'host/already-running',
      `another agent${holder === '' ? '' : ` (process ${holder})`} uses the state folder ${folder}`,
      {
        recovery: 'stop',
      },
    );
  }

  /** Releases the lock. */
  async close(): Promise<void> {
    await this.#file.close();
  }
}

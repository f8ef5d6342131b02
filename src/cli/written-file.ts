/**
 * A file that a command writes where a person says. The command may be root's and the folder somebody else's, who may have left anything there:
 * what is written is a new file, which takes the name when it is whole. Nothing that is there is opened, no link followed, and only a regular file replaced:
 * what `/dev/stdout` leads to is the whole machine's.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { systemCode } from '../errors/agent-error.ts';
import { CommandError } from './exit-code.ts';

const GROUP_BITS = 0o070;

export class WrittenFile {
  /** Where it lies until it is kept. */
  readonly draft: string;
  readonly #path: string;
  readonly #file: FileHandle;

  private constructor(path: string, draft: string, file: FileHandle) {
    this.#path = path;
    this.draft = draft;
    this.#file = file;
  }

  /** Opens a draft. Where `mode` has group rights, the group is the folder’s, also for root. @throws CommandError when it cannot be written there. */
  static async open(name: string, mode: number): Promise<WrittenFile> {
    const path = resolve(name);
    return orCannotWrite(path, async () => {
      await expectReplaceable(path);
      const draft = `${path}.${process.pid}.part`;
      await rm(draft, { force: true });
      const file = await open(
        draft,
        constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
        mode,
      );
      const output = new WrittenFile(path, draft, file);
      try {
        const { gid } = await stat(dirname(path));
        if (process.geteuid?.() === 0 && (mode & GROUP_BITS) !== 0) await file.chown(0, gid);
        await file.chmod(mode);
        return output;
      } catch (error) {
        await output.discard();
        throw error;
      }
    });
  }

  async write(content: string | Uint8Array): Promise<void> {
    await orCannotWrite(this.#path, () => this.#file.writeFile(content));
  }

  /** It is whole: it takes the place of what was there, and survives a power cut. */
  async keep(): Promise<void> {
    await orCannotWrite(this.#path, async () => {
      await this.#file.sync();
      await this.#file.close();
      await rename(this.draft, this.#path);
      const folder = await open(dirname(this.#path), constants.O_RDONLY | constants.O_DIRECTORY);
      await folder.sync().finally(() => folder.close());
    });
  }

  /** Nothing came of it; does nothing once it was kept. */
  async discard(): Promise<void> {
    await this.#file.close().catch(() => {});
    await rm(this.draft, { force: true }).catch(() => {});
  }
}

/** Refuses a name that cannot become a file, before anything is asked or done for it. @throws CommandError. */
export async function expectReplaceable(name: string): Promise<void> {
  const path = resolve(name);
  const there = await lstat(path).catch(() => undefined);
  if (there === undefined || there.isFile()) return;
  const kind = there.isDirectory() ? 'a folder' : there.isSymbolicLink() ? 'a link' : 'a device or a pipe';
  throw new CommandError(`cannot write ${path}: it is ${kind}`, { nextStep: 'name a file' });
}

/** Writes a small file whole. @throws CommandError. */
export async function writeOutput(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const file = await WrittenFile.open(path, mode);
  try {
    await file.write(content);
    await file.keep();
  } finally {
    await file.discard();
  }
}

async function orCannotWrite<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(`cannot write ${path}: ${systemCode(cause) ?? 'unknown fault'}`, { cause });
  }
}

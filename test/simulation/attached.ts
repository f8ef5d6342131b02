/** A device that hangs on the gateway and is flashed by it: what was offered for it, and with what it was flashed. */
import type { RunProgram } from '../../src/host/run-program.ts';
import type { MemoryFiles } from '../support/memory-files.ts';
import type { Timeline } from './timeline.ts';

export const ATTACHED_TITLE = 'controller';
const FLASHING_TAKES_MS = 8_000;

export interface OfferedImage {
  readonly version: string;
  readonly bytes: Buffer;
  /** True when the platform gave the right checksum of it. */
  readonly isRight: boolean;
}

interface Flashing {
  readonly atMs: number;
  readonly version: string;
  readonly bytes: Buffer;
  /** Nobody cut it short. */
  isDone: boolean;
}

export class AttachedDevice {
  readonly offered: OfferedImage[] = [];
  readonly flashed: Flashing[] = [];
  readonly #timeline: Timeline;
  readonly #disk: MemoryFiles;

  constructor(timeline: Timeline, disk: MemoryFiles) {
    this.#timeline = timeline;
    this.#disk = disk;
  }

  /** The handler's program: it reads the file, and takes its time. */
  readonly run: RunProgram = async ({ args }) => {
    const [file = '', version = ''] = args;
    const flashing: Flashing = {
      atMs: this.#timeline.nowMs,
      version,
      bytes: this.#disk.contentOf(file),
      isDone: false,
    };
    this.flashed.push(flashing);
    await this.#timeline.wait(FLASHING_TAKES_MS);
    flashing.isDone = true;
    return { exitCode: 0, stdout: '', stderr: '', cut: false };
  };
}

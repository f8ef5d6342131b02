/**
 * One commit on its way to the disk: room for it, the boot it belongs to in the table, and then the bytes. Commits take their places in the
 * order of their sequences, and up to two are on their way together.
 */
import { systemCode } from '../errors/agent-error.ts';
import type { Retention } from './delivery/retention.ts';
import type { FramedBlock } from './format/block-frame.ts';
import type { OutboxParts } from './outbox-parts.ts';
import type { BegunWrite } from './segments/segment-writer.ts';
import { SerialQueue } from './segments/serial-queue.ts';

interface CommitWriterDeps extends Pick<OutboxParts, 'clock' | 'log' | 'writer' | 'boots' | 'shelf' | 'state'> {
  /** Whose share of the disk makes room. */
  readonly retention: Retention;
  readonly writing: SerialQueue;
}

/** Without the table a power cut leaves entries with no time: they wait for it so long, and no longer, as an estimated time is better than none. */
const TIMES_WITHIN_MS = 60_000;

export class CommitWriter {
  readonly #deps: CommitWriterDeps;
  readonly #placing = new SerialQueue();
  /** Since when the boot table refuses, ms since boot. */
  #refusesSinceMs: number | undefined;
  /** The last that the disk took, and the last on its way there. */
  #writtenSequence: number;
  #placedSequence: number;

  constructor(deps: CommitWriterDeps) {
    this.#deps = deps;
    this.#writtenSequence = this.#placedSequence = deps.shelf.segments.at(-1)?.lastSequence ?? 0;
  }

  /** Resolves when the blocks are durable, to those without room, which give way. `isOldest`: none waits before them. @throws as the files. */
  write(blocks: readonly FramedBlock[], isOldest: boolean): Promise<readonly FramedBlock[]> {
    const { writing, retention } = this.#deps;
    return writing.share(async () => {
      try {
        const { fitting, begun } = await this.#placing.run(() => this.#place(blocks, isOldest));
        await begun?.written;
        if (begun !== undefined) {
          this.#writtenSequence = Math.max(this.#writtenSequence, lastOf(fitting));
          retention.onTaken();
        }
        return blocks.filter((block) => !fitting.includes(block));
      } catch (error) {
        this.#placedSequence = this.#writtenSequence;
        const code = systemCode(error);
        if (code === 'ENOSPC' || code === 'EDQUOT') await retention.onRefused(code).catch(() => {});
        throw error;
      }
    });
  }

  #place(
    blocks: readonly FramedBlock[],
    isOldest: boolean,
  ): Promise<{ fitting: readonly FramedBlock[]; begun?: BegunWrite }> {
    const { writer } = this.#deps;
    return writer.inTurn(isOldest, async () => {
      const fitting = await this.#fitting(blocks);
      if (fitting.length === 0) return { fitting };
      await this.#keepTimes();
      // Numbers in between arrived without the disk, or gave way: after a power cut they would look like damage. And what arrived before it is
      // written would go once more.
      const { state } = this.#deps;
      const first = Math.min(...fitting.map(({ info }) => info.firstSequence));
      const hasArrived = fitting.some(({ info }) => state.acknowledged.touches(info.firstSequence, info.lastSequence));
      if (first > this.#placedSequence + 1 || hasArrived) await state.settle();
      const begun = await writer.begin(fitting, { isOldest });
      this.#placedSequence = Math.max(this.#placedSequence, lastOf(fitting));
      return { fitting, begun };
    });
  }

  /** Saves boot times before the entries that need them, and each boot before the next one begins, so that boots stay in their order. */
  async #keepTimes(): Promise<void> {
    const { boots, clock, log } = this.#deps;
    try {
      await boots.save();
      this.#refusesSinceMs = undefined;
    } catch (error) {
      this.#refusesSinceMs ??= clock.monotonicMs();
      if (clock.monotonicMs() - this.#refusesSinceMs < TIMES_WITHIN_MS) throw error;
      log.warn({ err: error }, 'boot times cannot be written');
    }
  }

  /** All of it, or the alarms alone, which others make room for. */
  async #fitting(blocks: readonly FramedBlock[]): Promise<readonly FramedBlock[]> {
    const alarms = blocks.filter(({ info }) => info.alarm);
    if (await this.#makeRoom(blocks, { alarms: alarms.length === blocks.length })) return blocks;
    if (alarms.length > 0) await this.#makeRoom(alarms, { alarms: true });
    return alarms;
  }

  #makeRoom(blocks: readonly FramedBlock[], kind: { readonly alarms: boolean }): Promise<boolean> {
    const { retention, writer } = this.#deps;
    const size = blocks.reduce((sum, block) => sum + block.bytes.length, 0);
    return retention.makeRoom(writer.growthOf(size), kind);
  }
}

function lastOf(blocks: readonly FramedBlock[]): number {
  return Math.max(...blocks.map(({ info }) => info.lastSequence));
}

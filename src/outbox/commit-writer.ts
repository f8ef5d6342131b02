/**
 * One commit on its way to the disk: room for it, the boot it belongs to in the table, and then the bytes. Commits take their places in the
 * order of their sequences, and up to two are on their way together.
 */
import { systemCode } from '../errors.ts';
import type { FramedBlock } from './block-frame.ts';
import type { OutboxParts } from './outbox-parts.ts';
import type { BegunWrite } from './segment-writer.ts';
import { SerialQueue } from './serial-queue.ts';

export interface CommitWriterDeps {
  readonly parts: Pick<OutboxParts, 'retention' | 'writer' | 'boots'>;
  readonly writing: SerialQueue;
  /** Writes the boot table; never rejects. */
  readonly keepTimes: () => Promise<void>;
}

export class CommitWriter {
  readonly #deps: CommitWriterDeps;
  readonly #placing = new SerialQueue();

  constructor(deps: CommitWriterDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves when the blocks are durable, to those for which there was no room: they give way. `isOldest`: nothing before them waits.
   * @throws what the files throw.
   */
  write(blocks: readonly FramedBlock[], isOldest: boolean): Promise<readonly FramedBlock[]> {
    return this.#deps.writing.share(() => this.#write(blocks, isOldest));
  }

  async #write(blocks: readonly FramedBlock[], isOldest: boolean): Promise<readonly FramedBlock[]> {
    const { retention } = this.#deps.parts;
    try {
      const { fitting, begun } = await this.#placing.run(() => this.#place(blocks, isOldest));
      await begun?.written;
      if (begun !== undefined) retention.onTaken();
      return blocks.filter((block) => !fitting.includes(block));
    } catch (error) {
      const code = systemCode(error);
      if (code === 'ENOSPC' || code === 'EDQUOT') await retention.onRefused(code).catch(() => {});
      throw error;
    }
  }

  async #place(blocks: readonly FramedBlock[], isOldest: boolean): Promise<{ fitting: readonly FramedBlock[]; begun?: BegunWrite }> {
    const { writer, boots } = this.#deps.parts;
    const fitting = await this.#fitting(blocks);
    if (fitting.length === 0) return { fitting };
    // A boot must be in the table before the next one begins, so that boots stay in their order.
    if (boots.dirty) await this.#deps.keepTimes();
    return { fitting, begun: await writer.begin(fitting, { isOldest }) };
  }

  /** All of it, or the alarms alone, which others make room for. */
  async #fitting(blocks: readonly FramedBlock[]): Promise<readonly FramedBlock[]> {
    const alarms = blocks.filter(({ info }) => info.alarm);
    if (await this.#makeRoom(blocks, { alarms: alarms.length === blocks.length })) return blocks;
    if (alarms.length > 0) await this.#makeRoom(alarms, { alarms: true });
    return alarms;
  }

  #makeRoom(blocks: readonly FramedBlock[], kind: { readonly alarms: boolean }): Promise<boolean> {
    const { retention, writer } = this.#deps.parts;
    const size = blocks.reduce((sum, block) => sum + block.bytes.length, 0);
    return retention.makeRoom(writer.growthOf(size), kind);
  }
}

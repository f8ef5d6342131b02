/**
 * Cuts a stream of bytes into frames where the line is silent. A host that is held up must not cut one: once the silence is over, another half of
 * it lets what came meanwhile be read; and a damaged frame is joined with those that follow it within the deadline.
 */
import type { Clock } from '../../host/clock.ts';

interface SilenceCutterOptions {
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>;
  readonly gapMs: number;
  readonly deadlineMs: number;
  readonly maxBytes: number;
  /** Takes a frame. Returns false for a damaged one. */
  readonly onFrame: (frame: Buffer) => boolean;
  readonly onTooLong: () => void;
}

export class SilenceCutter {
  readonly #options: SilenceCutterOptions;
  #rest: Buffer = Buffer.alloc(0);
  /** Frames that were damaged, oldest first: pieces of one, perhaps. */
  #damaged: { readonly bytes: Buffer; readonly atMs: number }[] = [];
  #cancel = (): void => {};
  /** Within a frame whose beginning is not known, or that is too long. */
  #skipping = true;
  #hasTaken = false;

  constructor(options: SilenceCutterOptions) {
    this.#options = options;
    this.#awaitSilence();
  }

  /** True when nothing has come since the beginning, or since `reset`. */
  get isSilent(): boolean {
    return !this.#hasTaken;
  }

  /** Takes a piece of any size. */
  splitBytes(bytes: Uint8Array): void {
    this.#hasTaken = true;
    this.#awaitSilence();
    if (this.#skipping) return;
    this.#rest = Buffer.concat([this.#rest, bytes]);
    if (this.#rest.length <= this.#options.maxBytes) return;
    this.#forget(true);
    this.#options.onTooLong();
  }

  /** The port was unplugged, or is closed. */
  reset(): void {
    this.#forget(true);
    this.#hasTaken = false;
    this.#awaitSilence();
  }

  /** Drops what is left of an earlier answer. */
  expectLine(): void {
    this.#forget(false);
  }

  #forget(isWithinFrame: boolean): void {
    this.#rest = Buffer.alloc(0);
    this.#damaged = [];
    this.#skipping = isWithinFrame;
  }

  #awaitSilence(): void {
    const { clock, gapMs } = this.#options;
    this.#cancel();
    this.#cancel = clock.after(gapMs, () => {
      this.#cancel = clock.after(gapMs / 2, () => this.#end());
    });
  }

  #end(): void {
    this.#skipping = false;
    if (this.#rest.length === 0) return;
    const { clock, deadlineMs, maxBytes, onFrame } = this.#options;
    const atMs = clock.monotonicMs();
    this.#damaged = [...this.#damaged.filter((one) => atMs - one.atMs < deadlineMs), { bytes: this.#rest, atMs }];
    this.#rest = Buffer.alloc(0);
    let joined: Buffer = Buffer.alloc(0);
    for (const [at, { bytes }] of [...this.#damaged.entries()].reverse()) {
      joined = Buffer.concat([bytes, joined]);
      if (joined.length > maxBytes) this.#damaged = this.#damaged.slice(at + 1);
      else if (!onFrame(joined)) continue;
      else this.#damaged = [];
      return;
    }
  }
}

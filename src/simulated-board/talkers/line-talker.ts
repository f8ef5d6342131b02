/** A sensor that prints lines: JSON, CSV or free text, by itself or when it is asked. What it printed is what the record shows. */
import type { SerialTalkConfig } from '../board-config.ts';
import type { Talker, TalkerContext } from './talker.ts';

type LinesConfig = Extract<SerialTalkConfig, { readonly kind: 'lines' }>;

export class LineTalker implements Talker {
  readonly #config: LinesConfig;
  readonly #context: TalkerContext;
  #cancel = (): void => {};

  constructor(config: LinesConfig, context: TalkerContext) {
    this.#config = config;
    this.#context = context;
    for (const [key, { signal }] of Object.entries(config.values)) context.signals.add(`${context.source}/${key}`, signal);
    this.#schedule(context.clock.monotonicMs());
  }

  receive(bytes: Uint8Array): void {
    this.#context.record.add('received', this.#context.source, this.#context.source, Buffer.from(bytes).toString('latin1'));
    if (this.#config.periodMs === undefined && Buffer.from(bytes).includes(0x0a)) this.#print();
  }

  close(): void {
    this.#cancel();
  }

  /** Prints at the next whole multiple of the period after `fromMs`: a timer may fire a little early, and must not meet the same one again. */
  #schedule(fromMs: number): void {
    const { periodMs } = this.#config;
    if (periodMs === undefined) return;
    const { clock } = this.#context;
    const dueMs = (Math.floor(fromMs / periodMs) + 1) * periodMs;
    this.#cancel = clock.after(dueMs - clock.monotonicMs(), () => {
      this.#print();
      this.#schedule(Math.max(dueMs, clock.monotonicMs()));
    });
  }

  #print(): void {
    const { source, signals } = this.#context;
    const { keys, values, terminator } = this.#config;
    const shown = Object.entries(values).map(
      ([key, { digits }]) => [key, Number(signals.value(`${source}/${key}`).toFixed(digits))] as const,
    );
    this.#context.print(this.#text(shown) + terminator, Object.fromEntries(shown), keys);
  }

  #text(values: readonly (readonly [string, number])[]): string {
    switch (this.#config.format) {
      case 'json':
        return JSON.stringify(Object.fromEntries(values));
      case 'csv':
        return values.map(([, value]) => String(value)).join(',');
      case 'text':
        return values.reduce((text, [key, value]) => text.replaceAll(`{${key}}`, String(value)), this.#config.template);
    }
  }
}

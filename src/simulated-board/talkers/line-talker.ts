/** A sensor that prints lines: JSON, CSV or free text, by itself or when it is asked. What it printed is what the record shows. */
import type { SerialTalkConfig } from '../board-config.ts';
import type { Talker, TalkerContext } from './talker.ts';

type LinesConfig = Extract<SerialTalkConfig, { readonly kind: 'lines' }>;

export function lineTalker(config: LinesConfig, { clock, print, record, signals, source }: TalkerContext): Talker {
  const { keys, periodMs, terminator } = config;
  for (const [key, { signal }] of Object.entries(config.values)) signals.add(`${source}/${key}`, signal);
  const printNow = (): void => {
    const values = Object.entries(config.values).map(
      ([key, { digits }]) => [key, Number(signals.value(`${source}/${key}`).toFixed(digits))] as const,
    );
    print(textOf(config, values) + terminator, Object.fromEntries(values), keys);
  };
  let cancel = (): void => {};
  /** Prints at the next whole multiple of the period after `fromMs`: a timer may fire a little early, and must not meet the same one again. */
  const schedule = (fromMs: number): void => {
    if (periodMs === undefined) return;
    const dueMs = (Math.floor(fromMs / periodMs) + 1) * periodMs;
    cancel = clock.after(dueMs - clock.monotonicMs(), () => {
      printNow();
      schedule(Math.max(dueMs, clock.monotonicMs()));
    });
  };
  schedule(clock.monotonicMs());
  return {
    receive: (bytes) => {
      record.add('received', source, source, Buffer.from(bytes).toString('latin1'));
      if (periodMs === undefined && bytes.includes(0x0a)) printNow();
    },
    close: () => cancel(),
  };
}

function textOf({ format, template }: LinesConfig, values: readonly (readonly [string, number])[]): string {
  switch (format) {
    case 'json':
      return JSON.stringify(Object.fromEntries(values));
    case 'csv':
      return values.map(([, value]) => String(value)).join(',');
    case 'text':
      return values.reduce((text, [key, value]) => text.replaceAll(`{${key}}`, String(value)), template);
  }
}

/** Twin on a simulated board's port: a sensor that prints lines of the configured format. */
import { signalOf } from '../../simulated-board/room-signals.ts';
import { textLike } from '../../simulated-board/text-like.ts';
import type { Twin } from '../../simulated-board/twin.ts';
import type { SerialLineConfig } from './definition.ts';

export const twin: Twin = {
  fitting: (config: SerialLineConfig, keys) => {
    const { format, delimiter, request, requestHex, periodMs } = config;
    const values = Object.fromEntries(printedKeys(config, keys).map((key) => [key, { signal: signalOf(key) }]));
    return {
      talk: {
        kind: 'lines',
        format: format === 'csv' || format === 'json' ? format : 'text',
        template: format === 'number' ? `{${config.key}}` : format === 'regex' ? textLike(config.pattern ?? '') : '',
        terminator: delimiter,
        values,
        ...(request === undefined && requestHex === undefined ? { periodMs } : {}),
      },
    };
  },
};

/** All columns of a line, also those that are passed over. */
function printedKeys({ format, columns = [] }: SerialLineConfig, keys: readonly string[]): readonly string[] {
  if (format === 'csv') return columns.map((column, index) => (column === '' ? `column${index}` : column));
  return format === 'json' ? ['temperature', 'humidity'] : keys;
}

/** Twin on a simulated board's port: a sensor that prints lines of the configured format, or sends frames of the configured fields. */
import { signalOf } from '../../stand-ins/simulated-board/room-signals.ts';
import { textLike } from '../../stand-ins/simulated-board/text-like.ts';
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import type { SerialLineConfig } from './definition.ts';
import { frameLike } from './twin-frame.ts';

/** How often a device sends that is not asked. */
const FRAME_EVERY_MS = 1_000;

export const twin: Twin = {
  fitting: (config: SerialLineConfig, keys) => {
    const { format, delimiter, request, requestHex, periodMs } = config;
    const hex = config.frame && config.fields ? frameLike({ ...config, frame: config.frame }) : '';
    const asked =
      requestHex?.replaceAll(/\s/g, '').toLowerCase() ??
      (request === undefined ? undefined : Buffer.from(request, 'latin1').toString('hex'));
    if (hex !== '')
      return {
        talk:
          asked === undefined
            ? { kind: 'bytes', hex, periodMs: FRAME_EVERY_MS }
            : { kind: 'answers', answers: { [asked]: hex } },
      };
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

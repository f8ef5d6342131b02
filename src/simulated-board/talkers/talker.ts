/** Device at the far end of a serial line. */
import type { SerialTalkConfig } from '../board-config.ts';
import type { BoardContext } from '../simulated-part.ts';
import { lineTalker } from './line-talker.ts';
import { modbusTalker } from './modbus-talker.ts';
import { nmeaTalker } from './nmea-talker.ts';

export interface TalkerContext extends BoardContext {
  /** The port's path. */
  readonly source: string;
  readonly send: (bytes: Uint8Array) => void;
  /** Sends a text, with the values that it shows in the record under the platform's keys. */
  readonly print: (text: string, values: Readonly<Record<string, number>>, keys: Readonly<Record<string, string>>) => void;
}

export interface Talker {
  receive(bytes: Uint8Array): void;
  close(): void;
}

const LINE_FEED = 0x0a;

export function talkerOf(config: SerialTalkConfig, context: TalkerContext): Talker {
  switch (config.kind) {
    case 'lines':
      return lineTalker(config, context);
    case 'echo':
      return { receive: (bytes) => context.send(bytes), close: () => {} };
    case 'listener':
      return listener(config.reply, context);
    case 'nmea':
      return nmeaTalker(config, context);
    case 'modbus':
      return modbusTalker(config.units, context);
  }
}

/** Takes lines, and answers each. */
function listener(reply: string | undefined, context: TalkerContext): Talker {
  return {
    receive: (bytes) => {
      context.record.add('received', context.source, context.source, Buffer.from(bytes).toString('latin1'));
      if (reply !== undefined) for (const byte of bytes) if (byte === LINE_FEED) context.send(Buffer.from(reply));
    },
    close: () => {},
  };
}

/** What sits at the far end of a serial line. */
import type { SerialTalkConfig } from '../board-config.ts';
import type { BoardContext } from '../simulated-part.ts';
import { LineTalker } from './line-talker.ts';
import { modbusTalker } from './modbus-talker.ts';
import { NmeaTalker } from './nmea-talker.ts';

export interface TalkerContext extends BoardContext {
  /** The port's path. */
  readonly source: string;
  readonly send: (bytes: Uint8Array) => void;
}

export interface Talker {
  receive(bytes: Uint8Array): void;
  close(): void;
}

export function talkerOf(config: SerialTalkConfig, context: TalkerContext): Talker {
  switch (config.kind) {
    case 'lines':
      return new LineTalker(config, context);
    case 'echo':
      return { receive: (bytes) => context.send(bytes), close: () => {} };
    case 'listener':
      return listener(config.reply, context);
    case 'nmea':
      return new NmeaTalker(config, context);
    case 'modbus':
      return modbusTalker(config.units, context);
  }
}

function listener(reply: string | undefined, context: TalkerContext): Talker {
  let rest = '';
  return {
    receive: (bytes) => {
      context.record.add('received', context.source, context.source, Buffer.from(bytes).toString('latin1'));
      const lines = (rest + Buffer.from(bytes).toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      if (reply !== undefined) for (const _ of lines) context.send(Buffer.from(reply));
    },
    close: () => {},
  };
}

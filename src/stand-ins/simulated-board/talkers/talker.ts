/** Devices at the far end of a serial line: what prints lines, a satellite receiver, Modbus units, and what takes what it gets. */
import type { SerialTalkConfig } from '../board-config.ts';
import type { BoardContext } from '../simulated-part.ts';
import { modbusTalker } from './modbus-talker.ts';
import { rounded } from './numbers.ts';

export interface TalkerContext extends BoardContext {
  /** The port's path. */
  readonly source: string;
  readonly send: (bytes: Uint8Array) => void;
  /** Sends a text, with the values that it shows in the record under the platform's keys. */
  readonly print: (
    text: string,
    values: Readonly<Record<string, number>>,
    keys: Readonly<Record<string, string>>,
  ) => void;
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
    case 'bytes':
      return repeater(config, context);
    case 'answers':
      return answerer(config.answers, context);
    case 'echo':
      return { receive: (bytes) => context.send(bytes), close: () => {} };
    case 'listener':
      return listener(config.reply, context);
    case 'nmea':
      return nmeaTalker(config, context);
    case 'modbus':
      return modbusTalker(config, context);
  }
}

function repeater(
  { hex, periodMs }: Extract<SerialTalkConfig, { readonly kind: 'bytes' }>,
  context: TalkerContext,
): Talker {
  const { clock, faults, send, source } = context;
  const schedule = (): (() => void) =>
    clock.after(periodMs, () => {
      const fault = faults.of(source);
      if (fault !== 'hang' && fault !== 'unplug') send(Buffer.from(hex, 'hex'));
      cancel = schedule();
    });
  let cancel = schedule();
  return { receive: () => {}, close: () => cancel() };
}

/** Answers a request as soon as its last byte has come. */
function answerer(answers: Readonly<Record<string, string>>, { send }: TalkerContext): Talker {
  const longest = Math.max(...Object.keys(answers).map((request) => request.length));
  let received = '';
  return {
    receive: (bytes) => {
      for (const byte of bytes) {
        received = `${received}${byte.toString(16).padStart(2, '0')}`.slice(-longest);
        const request = Object.keys(answers).find((one) => received.endsWith(one));
        if (request === undefined) continue;
        received = '';
        send(Buffer.from(answers[request] ?? '', 'hex'));
      }
    },
    close: () => {},
  };
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

type NmeaConfig = Extract<SerialTalkConfig, { readonly kind: 'nmea' }>;

const KILOMETRES_PER_NAUTICAL_MILE = 1.852;
const SATELLITES = 8;
const ALTITUDE = 353.2;

export function nmeaTalker(config: NmeaConfig, { clock, print, signals, source }: TalkerContext): Talker {
  for (const name of ['latitude', 'longitude', 'speedKnots'] as const) signals.add(`${source}/${name}`, config[name]);
  const value = (name: string): number => signals.value(`${source}/${name}`);
  const printNow = (): void => {
    const latitude = degreesAndMinutes(value('latitude'), 2);
    const longitude = degreesAndMinutes(value('longitude'), 3);
    const knots = value('speedKnots').toFixed(1);
    const now = new Date(clock.wallMs()).toISOString();
    const time = now.slice(11, 19).replaceAll(':', '');
    const date = now.slice(8, 10) + now.slice(5, 7) + now.slice(2, 4);
    const position = `${latitude.text},${latitude.degrees < 0 ? 'S' : 'N'},${longitude.text},${longitude.degrees < 0 ? 'W' : 'E'}`;
    const lines = [
      `GPRMC,${time},A,${position},${knots},84.4,${date},,`,
      `GPGGA,${time},${position},1,${SATELLITES},0.9,${ALTITUDE},M,46.9,M,,`,
    ];
    const speed = rounded(Number(knots) * KILOMETRES_PER_NAUTICAL_MILE, 3);
    const shown = { latitude: latitude.degrees, longitude: longitude.degrees, speed };
    print(lines.map((line) => `$${line}*${checkSum(line)}\r\n`).join(''), shown, config.keys);
  };
  const schedule = (): (() => void) =>
    clock.after(config.periodMs, () => {
      printNow();
      cancel = schedule();
    });
  let cancel = schedule();
  return { receive: () => {}, close: () => cancel() };
}

/** `4704.2000` for 47.07: degrees, then minutes with four decimals; and the degrees that this means. */
function degreesAndMinutes(value: number, digits: number): { readonly text: string; readonly degrees: number } {
  const whole = Math.floor(Math.abs(value));
  const minutes = Math.min(59.9999, Math.round((Math.abs(value) - whole) * 600_000) / 10_000);
  const text = `${String(whole).padStart(digits, '0')}${minutes.toFixed(4).padStart(7, '0')}`;
  return { text, degrees: rounded(Math.sign(value) * (whole + minutes / 60), 7) };
}

function checkSum(text: string): string {
  const sum = [...text].reduce((xor, character) => xor ^ character.charCodeAt(0), 0);
  return sum.toString(16).toUpperCase().padStart(2, '0');
}

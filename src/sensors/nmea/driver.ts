/** A satellite receiver on a serial line: position, height, speed, course, satellites and kind of fix from its RMC and GGA sentences. */
import { withinDeadline } from '../../hardware/deadline.ts';
import type { Clock } from '../../host/clock.ts';
import { LineSplitter } from '../families/lines/line-splitter.ts';
import { rounded } from '../kind/i2c-chip.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { type NmeaConfig, UNITS } from './definition.ts';

/** NMEA 0183 allows 82 characters; some receivers send a little more. */
const MAX_SENTENCE_LENGTH = 256;
/** A sentence older than this says nothing about now: receivers send every second, slow ones every five. */
const FRESH_MS = 10_000;
/** Time and date of an RMC sentence: its first and ninth field. The parser takes the gateway's own date where there is none. */
const RMC_TIME = /^\$..RMC,(\d\d)(\d\d)(\d\d)(?:\.(\d{1,3})\d*)?,(?:[^,]*,){7}(\d\d)(\d\d)(\d\d),/;
/** Earlier receivers' week counters and unset clocks give dates before this. */
const EARLIEST_TIME_MS = Date.UTC(2020, 0, 1);
/** Credible ranges and digits: a centimetre on the ground, and the resolution of receivers for the others. */
const VALUES = {
  latitude: { range: [-90, 90], digits: 7 },
  longitude: { range: [-180, 180], digits: 7 },
  altitude: { range: [-1_000, 100_000], digits: 2 },
  speed: { range: [0, 2_000], digits: 3 },
  course: { range: [0, 360], digits: 2 },
  satellites: { range: [0, 200], digits: 0 },
} as const;

/** Sentence as the gps package parses it, as far as it is used. */
interface Sentence {
  readonly type: string;
  readonly valid: boolean;
  readonly lat?: number | null;
  readonly lon?: number | null;
  readonly alt?: number | null;
  readonly speed?: number | null;
  readonly track?: number | null;
  readonly status?: string | null;
  readonly quality?: string | null;
  readonly satellites?: unknown;
}
interface Heard {
  readonly sentence: Sentence;
  readonly line: string;
  readonly atMs: number;
}

export type SentenceParser = (line: string) => false | Sentence;

export async function open(config: NmeaConfig, { ports, clock }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const parse = await loadParser();
  const port = await ports.serial.open(config, signal);
  const fix = new NmeaFix({ parse, clock, useReceiverTime: config.useReceiverTime });
  const splitter = new LineSplitter({ delimiter: '\n', maxBytes: MAX_SENTENCE_LENGTH, onLine: (line) => fix.readSentence(line) });
  port.onBytes((bytes) => splitter.splitBytes(bytes));
  port.onPlug(() => splitter.reset());
  return {
    name: config.name,
    read: async (within) => {
      if (!port.plugged) throw sensorFault('silent', `${port.path} is unplugged`);
      // A receiver speaks when it will: one that was opened just now is no silent one. Some never send the other of the two sentences.
      if (!fix.isHeard) await withinDeadline(fix.complete, 'waiting for a sentence', within).catch(() => {});
      return fix.readings();
    },
    close: () => port.close(),
  };
}

/** Loaded when the first receiver is configured. */
export async function loadParser(): Promise<SentenceParser> {
  const { GPS } = await import('gps');
  // Its types name no sentence's own fields.
  return (line) => GPS.Parse(line) as unknown as false | Sentence;
}

interface NmeaFixDeps {
  readonly parse: SentenceParser;
  readonly clock: Clock;
  readonly useReceiverTime: boolean;
}

/** The newest of each, from one sentence of each kind. */
export class NmeaFix {
  readonly #deps: NmeaFixDeps;
  readonly #newest = new Map<string, Heard>();
  readonly #complete = Promise.withResolvers<void>();
  #anyAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: NmeaFixDeps) {
    this.#deps = deps;
  }

  /** True when a valid sentence has come. */
  get isHeard(): boolean {
    return this.#newest.size > 0;
  }

  /** Resolves when there was an RMC and a GGA sentence. */
  get complete(): Promise<void> {
    return this.#complete.promise;
  }

  /** Takes a line; one that is no valid sentence is passed over. */
  readSentence(line: string): void {
    // Without its check sum a sentence may be any noise.
    if (!/\*[0-9A-F]{2}\s*$/i.test(line)) return;
    let sentence: false | Sentence;
    try {
      sentence = this.#deps.parse(line.trim());
    } catch {
      return; // the parser's answer to some broken sentences
    }
    if (sentence === false || !sentence.valid) return;
    const atMs = this.#deps.clock.monotonicMs();
    this.#anyAtMs = atMs;
    this.#newest.set(sentence.type, { sentence, line: line.trim(), atMs });
    if (this.#newest.has('RMC') && this.#newest.has('GGA')) this.#complete.resolve();
  }

  /** Without a fix: `fix` and `satellites` only. @throws AgentError `sensors/silent` (retry) when no sentence came lately. */
  readings(): readonly Reading[] {
    if (this.#deps.clock.monotonicMs() - this.#anyAtMs > FRESH_MS) throw sensorFault('silent', 'no valid NMEA sentence comes (baud rate?)');
    const heard = this.#fresh('RMC');
    const rmc = heard?.sentence;
    const gga = this.#fresh('GGA')?.sentence;
    const hasFix = rmc?.status === 'active' || (gga?.quality ?? null) !== null;
    const takenAtMs = this.#receiverTime(heard);
    const place = { latitude: rmc?.lat ?? gga?.lat, longitude: rmc?.lon ?? gga?.lon, altitude: gga?.alt };
    const values = { satellites: gga?.satellites, ...(hasFix && { ...place, speed: rmc?.speed, course: rmc?.track }) };
    const readings = Object.entries(values).flatMap(([key, value]) => readingOf(key as keyof typeof VALUES, value));
    readings.unshift({ key: 'fix', value: hasFix ? (gga?.quality ?? 'fix') : 'none' });
    return takenAtMs === undefined ? readings : readings.map((reading) => ({ ...reading, takenAtMs }));
  }

  #fresh(type: string): Heard | undefined {
    const newest = this.#newest.get(type);
    return newest !== undefined && this.#deps.clock.monotonicMs() - newest.atMs <= FRESH_MS ? newest : undefined;
  }

  /** Only RMC has a date; before its clock is set a receiver may give a time without one, which no reading is stamped with. */
  #receiverTime(rmc: Heard | undefined): number | undefined {
    const timeMs = this.#deps.useReceiverTime && rmc?.sentence.status === 'active' ? rmcTimeMs(rmc.line) : undefined;
    return timeMs !== undefined && timeMs >= EARLIEST_TIME_MS ? timeMs : undefined;
  }
}

function rmcTimeMs(line: string): number | undefined {
  const match = RMC_TIME.exec(line);
  if (match === null) return undefined;
  const [hour = 0, minute = 0, second = 0, , day = 0, month = 0, year = 0] = match.slice(1).map(Number);
  const fractionMs = Number((match[4] ?? '').padEnd(3, '0'));
  // Two digits of the year; satellite navigation is younger than 1980.
  const time = new Date(Date.UTC(year < 80 ? 2000 + year : 1900 + year, month - 1, day, hour, minute, second, fractionMs));
  return time.getUTCDate() === day && time.getUTCMonth() === month - 1 ? time.getTime() : undefined;
}

/** None for what the receiver left empty, and for what cannot be. */
function readingOf(key: keyof typeof VALUES, value: unknown): readonly Reading[] {
  const { range, digits } = VALUES[key];
  if (typeof value !== 'number' || !(value >= range[0] && value <= range[1])) return [];
  const unit = UNITS[key];
  return [{ key, value: rounded(value, digits), ...(unit !== null && { unit }) }];
}

/** A satellite receiver or marine instruments on a serial line: the newest value of each key, from whichever of its sentences gives it. */
import { withinDeadline } from '../../hardware/deadline.ts';
import type { Clock } from '../../host/clock.ts';
import { rounded } from '../kind/i2c-chip.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { FIX_SENTENCES, KEYS_OF, type NmeaConfig, type SentenceType } from './definition.ts';
import { parseSentence, type Sentence, SentenceCutter } from './sentence.ts';
import { fixOf, LAYOUTS, transducersOf, VALUES } from './sentence-fields.ts';
import { sentenceTimeMs } from './sentence-time.ts';

/** A sentence older than this says nothing about now: receivers send every second, slow ones every five. */
const FRESH_MS = 10_000;
/** Addresses of sentences that are not read: as many as a message shows. */
const MAX_OTHERS = 8;
/** Keys of a satellite receiver, which mean nothing while it has no fix and have its time. */
const OF_POSITION: ReadonlySet<string> = new Set(['latitude', 'longitude', 'altitude', 'speed', 'course']);

interface Heard {
  readonly reading: Reading;
  readonly atMs: number;
}
/** Last sentence of one kind. */
interface Source {
  readonly readings: Map<string, Heard>;
  atMs: number;
  /** Undefined without a fix. */
  fix?: string | undefined;
  timeMs?: number | undefined;
}

export async function open(config: NmeaConfig, { ports, clock }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const port = await ports.serial.open(config, signal);
  const sentences = new NmeaSentences(config, clock);
  const cutter = new SentenceCutter((line) => sentences.readSentence(line));
  port.onBytes((bytes) => cutter.cutBytes(bytes));
  port.onPlug(() => cutter.reset());
  return {
    name: config.name,
    read: async (within) => {
      if (!port.plugged) throw sensorFault('silent', `${port.path} is unplugged`);
      // A receiver speaks when it will: one that was opened just now is no silent one. Some never send the other of the two sentences.
      if (!sentences.isHeard)
        await withinDeadline(sentences.complete, 'waiting for a sentence', within).catch(() => {});
      return sentences.readings();
    },
    close: () => port.close(),
  };
}

type Reads = Pick<NmeaConfig, 'checksum' | 'sentences' | 'transducers' | 'useReceiverTime'>;

/** Newest values by the sentences that gave them. */
export class NmeaSentences {
  readonly #config: Reads;
  readonly #clock: Clock;
  readonly #sources = new Map<SentenceType, Source>();
  readonly #complete = Promise.withResolvers<void>();
  /** Times of sentences that are not read, by their addresses. */
  readonly #others = new Map<string, number>();
  #uncheckedAtMs = Number.NEGATIVE_INFINITY;

  constructor(config: Reads, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /** True when a sentence that is read has come. */
  get isHeard(): boolean {
    return this.#sources.size > 0;
  }

  /** Resolves when there was an RMC and a GGA sentence. */
  get complete(): Promise<void> {
    return this.#complete.promise;
  }

  /** Takes a line; one that is no valid sentence is passed over. */
  readSentence(line: string): void {
    const sentence = parseSentence(line);
    if (sentence === undefined) return;
    const atMs = this.#clock.monotonicMs();
    const type = this.#config.sentences.find((one) => one === sentence.type);
    if (!sentence.isChecked && this.#config.checksum === 'required') this.#uncheckedAtMs = atMs;
    else if (type === undefined) this.#noteOther(sentence.address, atMs);
    else if (type === 'XDR') this.#takeTransducers(sentence, atMs);
    else this.#take(type, sentence, atMs);
  }

  /**
   * Without a fix: `fix` and `satellites`, and what other instruments say.
   * @throws AgentError (retry): `sensors/silent` when no sentence that is read came lately, `sensors/no-value` when those that came have no value.
   */
  readings(): readonly Reading[] {
    const heard = this.#config.sentences.flatMap((type) => this.#fresh(type) ?? []);
    if (heard.length === 0) throw sensorFault('silent', this.#whySilent());
    const told = FIX_SENTENCES.flatMap((type) => this.#fresh(type) ?? []);
    const fix = this.#fresh('GGA')?.fix ?? told.find((one) => one.fix !== undefined)?.fix;
    const hasPosition = told.length === 0 || fix !== undefined;
    const takenAtMs = fix === undefined ? undefined : (this.#fresh('RMC')?.timeMs ?? this.#fresh('ZDA')?.timeMs);
    const stamp = takenAtMs === undefined || !this.#config.useReceiverTime ? {} : { takenAtMs };
    const readings = new Map<string, Reading>(
      told.length === 0 ? [] : [['fix', { key: 'fix', value: fix ?? 'none', ...stamp }]],
    );
    for (const { readings: given } of heard)
      for (const [key, { reading, atMs }] of given) {
        if (readings.has(key) || !this.#isFresh(atMs)) continue;
        const isOfPosition = OF_POSITION.has(key);
        if (isOfPosition && !hasPosition) continue;
        readings.set(key, isOfPosition || key === 'satellites' ? { ...reading, ...stamp } : reading);
      }
    if (readings.size === 0) throw sensorFault('no-value', 'the sentences that come are empty or marked as not valid');
    return [...readings.values()];
  }

  #take(type: SentenceType, { fields }: Sentence, atMs: number): void {
    const { isValid = () => true, values } = LAYOUTS[type];
    const source = this.#sourceOf(type, atMs);
    const valid = isValid(fields);
    source.fix = valid ? (type === 'GGA' ? fixOf(fields[5]) : 'fix') : undefined;
    source.timeMs = valid ? sentenceTimeMs(type, fields) : undefined;
    for (const key of KEYS_OF[type]) {
      // Each kind's layout has its own keys.
      const extract = (
        values as Readonly<Partial<Record<typeof key, (all: readonly string[]) => number | null | undefined>>>
      )[key];
      const value = valid || key === 'satellites' ? extract?.(fields) : null;
      const { unit, range, digits } = VALUES[key];
      const isCredible = typeof value === 'number' && value >= range[0] && value <= range[1];
      if (isCredible) this.#keep(source, { key, value: rounded(value, digits), ...(unit !== undefined && { unit }) });
      else if (value !== undefined) source.readings.delete(key);
    }
    if (this.#sources.has('RMC') && this.#sources.has('GGA')) this.#complete.resolve();
  }

  #takeTransducers({ fields }: Sentence, atMs: number): void {
    for (const { name, value, unit } of transducersOf(fields)) {
      if (!this.#config.transducers.includes(name)) {
        this.#noteOther(`XDR transducer ${name}`, atMs);
        continue;
      }
      const source = this.#sourceOf('XDR', atMs);
      if (value === null) source.readings.delete(name);
      else this.#keep(source, { key: name, value, ...(unit !== undefined && { unit }) });
    }
  }

  #sourceOf(type: SentenceType, atMs: number): Source {
    const source: Source = this.#sources.get(type) ?? { readings: new Map(), atMs };
    this.#sources.set(type, source);
    source.atMs = atMs;
    return source;
  }

  #keep(source: Source, reading: Reading): void {
    source.readings.set(reading.key, { reading, atMs: source.atMs });
  }

  #noteOther(address: string, atMs: number): void {
    this.#others.delete(address);
    this.#others.set(address, atMs);
    for (const oldest of this.#others.keys()) {
      if (this.#others.size <= MAX_OTHERS) break;
      this.#others.delete(oldest);
    }
  }

  #whySilent(): string {
    const others = [...this.#others].filter(([, atMs]) => this.#isFresh(atMs)).map(([address]) => address);
    if (others.length > 0) return `valid NMEA sentences come, but none that is read: ${others.join(', ')}`;
    if (this.#isFresh(this.#uncheckedAtMs))
      return 'no valid NMEA sentence comes: they have no check sum (checksum: optional takes them)';
    return 'no valid NMEA sentence comes (baud rate?)';
  }

  #fresh(type: SentenceType): Source | undefined {
    const source = this.#sources.get(type);
    return source !== undefined && this.#isFresh(source.atMs) ? source : undefined;
  }

  #isFresh(atMs: number): boolean {
    return this.#clock.monotonicMs() - atMs <= FRESH_MS;
  }
}

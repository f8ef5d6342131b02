/**
 * Sensors that may hang on a serial port: a candidate is one whose own driver reads values in what the port sends, or answers when it is asked.
 *
 *   kinds that speak by themselves, presets ─► those of the line's settings ─► driver ─► the candidate with most values
 */
import { bytesOfHex } from '../config/fields/request-text.ts';
import { sensorKeys } from '../config/keys/sensor-keys.ts';
import { withPresets } from '../config/models/with-presets.ts';
import { type SensorConfig, sensorSchema } from '../config/schema/sensors.ts';
import { SerialBuses } from '../hardware/serial-buses.ts';
import type { SerialPorts, SerialSettings } from '../hardware/serial-port.ts';
import { silentLog } from '../host/log.ts';
import { modelFiles } from '../host/model-files.ts';
import { SENSOR_KINDS } from '../kinds/sensor-kinds.ts';
import { createSensor } from '../sensors/create-sensor.ts';
import type { Reading } from '../sensors/kind/sensor.ts';
import type { ScanDeps } from './scan-deps.ts';

export type LineSettings = Required<Pick<SerialSettings, 'baudRate' | 'dataBits' | 'parity'>>;

/** Bytes at the beginning and end of a frame that no noise has. */
const SURE_MARKS = 6;

export interface Candidate {
  /** That of the preset or kind. */
  readonly name: string;
  /** As a configuration has them, beside name, port and settings. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly config: SensorConfig;
  /** Undefined for a kind that is spoken at any speed. */
  readonly settings?: LineSettings;
  /** It speaks only when it is asked. */
  readonly isAsked: boolean;
}

export interface Guess extends Pick<Candidate, 'name' | 'options'> {
  readonly settings: LineSettings;
  /** Keys of the values that were read. */
  readonly keys: readonly string[];
  /** Keys that may come, too. */
  readonly possible: readonly string[];
}

/** Every kind and preset that is told by what it sends; a person's own presets, too. */
export async function serialCandidates(configFile: string): Promise<readonly Candidate[]> {
  const kinds = SENSOR_KINDS.flatMap(({ kind, onSerialPort }) =>
    onSerialPort === undefined ? [] : [{ kind, ...onSerialPort }],
  );
  const presets = (await modelFiles(configFile, 'presets')).map(({ name }) => ({ kind: 'serial-line', preset: name }));
  const asked = SENSOR_KINDS.flatMap(({ kind, asked: ways = [] }) => ways.map((way) => ({ kind, ...way })));
  const candidates: Candidate[] = [];
  for (const options of [...kinds, ...presets, ...asked]) {
    const { root, faults } = await withPresets(
      { sensors: [{ name: 'heard', port: '/dev/null', ...options }] },
      configFile,
    );
    const { data: config } = sensorSchema.safeParse((root.sensors as readonly unknown[])[0]);
    if (faults.length > 0 || config === undefined) continue;
    const isPreset = 'preset' in options;
    const isAtSpeed = 'baudRate' in options;
    const { baudRate, dataBits, parity, request, requestHex } = config as Partial<
      SensorConfig & { kind: 'serial-line' }
    > &
      LineSettings;
    candidates.push({
      name: isPreset ? options.preset : options.kind,
      options: isAtSpeed ? { kind: options.kind } : options,
      config,
      isAsked: isAtSpeed || (request ?? requestHex) !== undefined,
      ...((isPreset || isAtSpeed) && { settings: { baudRate, dataBits, parity } }),
    });
  }
  return candidates;
}

interface Heard {
  readonly bytes: Buffer;
  readonly settings: LineSettings;
}

/** Returns the candidate that reads most in what was heard. */
export async function guessFrom(
  { bytes, settings }: Heard,
  candidates: readonly Candidate[],
  deps: ScanDeps,
): Promise<Guess | undefined> {
  const guesses: Guess[] = [];
  for (const { name, options, config, isAsked } of candidates) {
    if (isAsked || (!hasCheck(config) && !isText(bytes))) continue;
    const serial = replayOf(bytes);
    const ports = { ...deps.ports, serial, serialBuses: new SerialBuses(serial, deps.clock) };
    const keys = await keysFrom(config, { ...deps, ports }, AbortSignal.abort());
    guesses.push({ name, options, settings, keys, possible: possibleKeys(config, keys) });
  }
  const [best] = guesses.toSorted((a, b) => b.keys.length - a.keys.length);
  return best?.keys.length === 0 ? undefined : best;
}

/** Returns the keys that a sensor reads by the time the signal aborts; none when it cannot be read. */
export async function keysFrom(config: SensorConfig, deps: ScanDeps, signal: AbortSignal): Promise<readonly string[]> {
  return (await readingsFrom(config, deps, signal).catch(() => [])).map(({ key }) => key);
}

/** Opens a sensor's driver for one reading, and closes it. @throws what the driver does. */
export async function readingsFrom(
  config: SensorConfig,
  deps: ScanDeps,
  signal: AbortSignal,
): Promise<readonly Reading[]> {
  const sensor = await createSensor(config, { ...deps, log: silentLog, stateFolder: '/nonexistent' }, signal);
  try {
    return await sensor.read(signal);
  } finally {
    await sensor.close();
  }
}

/** Keys of values that were read, and of those that the configuration tells. */
export function possibleKeys(config: SensorConfig, read: readonly string[]): readonly string[] {
  return [...new Set([...read, ...(sensorKeys(config) ?? [])])];
}

/** True for printable characters in lines. */
export function isText(bytes: Buffer): boolean {
  const printed = bytes.filter(
    (byte) => (byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x0d || byte === 0x09,
  );
  return printed.length >= 0.9 * bytes.length && bytes.includes(0x0a);
}

/** Numbers are in any noise: frames need a check sum or a long beginning and end, and lines without one need to be text. */
function hasCheck(config: SensorConfig): boolean {
  if (config.kind !== 'serial-line' || config.check !== undefined) return true;
  const { start = '', end = '' } = config.frame ?? {};
  return bytesOfHex(start).length + bytesOfHex(end).length >= SURE_MARKS;
}

/** A port that has sent these bytes by the time somebody reads, and takes none. */
function replayOf(heard: Buffer): SerialPorts {
  const port = {
    path: '/dev/null',
    plugged: true,
    close: async () => {},
    onPlug: () => () => {},
    write: () => Promise.reject(new Error('nothing is written')),
    onBytes: (listener: (bytes: Uint8Array) => void) => {
      queueMicrotask(() => listener(heard));
      return () => {};
    },
  };
  return { open: async () => port, list: async () => [], close: async () => {} };
}

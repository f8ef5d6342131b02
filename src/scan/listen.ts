/**
 * Serial ports: listens on each at the usual speeds, and tells what it hears by the drivers of the kinds that may speak there. Nothing is written
 * to a port unless it is asked: requests of presets, and resets of the M-Bus link, which a meter acknowledges.
 */
import { type SensorConfig, sensorSchema } from '../config/schema/sensors.ts';
import { hasCode, messageOf } from '../errors/agent-error.ts';
import { isNetworkPort } from '../hardware/network-serial.ts';
import type { SerialDescription, SerialPort } from '../hardware/serial-port.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { isConsole } from '../host/tty-names.ts';
import { printable } from '../names/printable.ts';
import { FrameCutter, SND_NKE, shortFrame } from '../sensors/mbus/frames.ts';
import type { ScanDeps } from './scan-deps.ts';
import {
  type Candidate,
  type Guess,
  guessFrom,
  isText,
  keysFrom,
  type LineSettings,
  possibleKeys,
} from './serial-guesses.ts';

/** A port, and what was found out about it. */
export interface HeardPort extends SerialDescription {
  readonly guesses?: readonly Guess[];
  /** Why there is no guess: silence, or the beginning of unknown bytes and the settings at which they came. */
  readonly heard?: { readonly settings?: LineSettings; readonly what: string };
}

export interface Listening {
  readonly forMs: number;
  readonly candidates: readonly Candidate[];
  readonly onProgress?: (done: number, total: number) => void;
}

const at = (baudRate: number, dataBits: 7 | 8 = 8, parity: LineSettings['parity'] = 'none') => ({
  baudRate,
  dataBits,
  parity,
});
/** Usual settings, the most usual first; those of presets come behind them. */
const USUAL: readonly LineSettings[] = [
  ...[at(9_600), at(115_200), at(4_800), at(9_600, 7, 'even'), at(19_200)],
  ...[at(2_400, 8, 'even'), at(38_400), at(57_600)],
];
const OPEN_MS = 5_000;
const MAX_HEARD_BYTES = 32_768;
const MAX_SHOWN = 80;
export const SILENCE = 'Nothing was heard.';
/** Time in which a request leaves for the line. */
const WRITE_MS = 500;
/** All telegrams of an M-Bus meter. */
const METER_MS = 10_000;
const MBUS = at(2_400, 8, 'even');
export const MBUS_ADDRESSES = Array.from({ length: 251 }, (_, address) => address);

/** Listens on all ports at once; they are told apart by what was heard by the time the signal aborts. */
export async function listenOn(
  deps: ScanDeps,
  found: readonly SerialDescription[],
  listening: Listening,
  signal: AbortSignal,
) {
  return await Promise.all(
    found.map(async (port): Promise<HeardPort> => {
      if (await isConsole(port.path)) return { ...port, heard: { what: 'It is the console of this machine.' } };
      try {
        return { ...port, ...(await hear(deps, port, listening, signal)) };
      } catch (error) {
        const what = hasCode(error, 'hardware/serial-busy')
          ? 'It is in use by another program.'
          : printable(messageOf(error));
        return { ...port, heard: { what } };
      }
    }),
  );
}

async function hear(
  deps: ScanDeps,
  { path }: HeardPort,
  { forMs, candidates, onProgress }: Listening,
  signal: AbortSignal,
) {
  const usual = [...USUAL, ...candidates.flatMap(({ settings }) => settings ?? [])];
  // A device server has the settings of its line.
  const speeds = isNetworkPort(path)
    ? [at(9_600)]
    : usual.filter((one, index) => usual.findIndex((other) => isSame(one, other)) === index);
  const unknown: { readonly settings: LineSettings; readonly bytes: Buffer }[] = [];
  for (const [done, settings] of speeds.entries()) {
    if (signal.aborted) break;
    onProgress?.(done, speeds.length);
    let bytes: Buffer = Buffer.alloc(0);
    await withPort(deps, path, settings, async (port) => {
      port.onBytes((more) => {
        bytes = Buffer.concat([bytes, more]).subarray(0, MAX_HEARD_BYTES);
      });
      await deps.clock.sleep(forMs, signal);
    });
    if (bytes.length === 0) continue;
    const fitting = candidates.filter(
      (one) => one.settings === undefined || isNetworkPort(path) || isSame(one.settings, settings),
    );
    const guess = await guessFrom({ bytes, settings }, fitting, deps);
    if (guess !== undefined) return { guesses: [guess] };
    unknown.push({ settings, bytes });
  }
  const best = unknown.find(({ bytes }) => isText(bytes)) ?? unknown[0];
  return { heard: best === undefined ? { what: SILENCE } : { settings: best.settings, what: inWords(best.bytes) } };
}

async function withPort(
  { ports, clock }: ScanDeps,
  path: string,
  settings: LineSettings,
  work: (port: SerialPort) => Promise<void>,
): Promise<void> {
  const port = await withinMs(clock, OPEN_MS, (within) => ports.serial.open({ port: path, ...settings }, within));
  await work(port).finally(() => port.close());
}

export interface Asking {
  readonly candidates: readonly Candidate[];
  /** Addresses on the M-Bus. */
  readonly addresses: readonly number[];
  readonly answerMs: number;
  readonly acknowledgeMs: number;
  /** Is told of the addresses on the M-Bus. */
  readonly onProgress: (done: number, total: number) => void;
}

/** Sends the requests of presets, then a reset to each primary address of the M-Bus. */
export async function askPort(
  deps: ScanDeps,
  port: HeardPort,
  asking: Asking,
  signal: AbortSignal,
): Promise<HeardPort> {
  const ask = (config: SensorConfig, ms: number) =>
    withinMs(
      deps.clock,
      ms,
      (within) => keysFrom({ ...config, port: port.path } as SensorConfig, deps, within),
      signal,
    );
  for (const { name, options, config, settings, isAsked } of asking.candidates) {
    const keys = isAsked && settings !== undefined && !signal.aborted ? await ask(config, asking.answerMs) : [];
    if (settings !== undefined && keys.length > 0)
      return { ...port, guesses: [{ name, options, keys, settings, possible: possibleKeys(config, keys) }] };
  }
  const guesses: Guess[] = [];
  for (const address of await acknowledging(deps, port.path, asking, signal)) {
    const options = { kind: 'mbus', address };
    const keys = await ask(sensorSchema.parse({ name: 'meter', port: port.path, ...options }), METER_MS);
    if (keys.length > 0) guesses.push({ name: 'meter', options, keys, settings: MBUS, possible: keys });
  }
  return guesses.length === 0 ? port : { ...port, guesses };
}

/** Returns the primary addresses whose meters acknowledge a reset of their link. */
async function acknowledging(
  deps: ScanDeps,
  path: string,
  { addresses, acknowledgeMs, onProgress }: Asking,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const found: number[] = [];
  await withPort(deps, path, MBUS, async (port) => {
    let onAcknowledged = (): void => {};
    const cutter = new FrameCutter((frame) => frame === undefined && onAcknowledged());
    port.onBytes((bytes) => cutter.cutBytes(bytes));
    for (const [done, address] of addresses.entries()) {
      signal.throwIfAborted();
      onProgress(done, addresses.length);
      const acknowledged = new AbortController();
      onAcknowledged = () => acknowledged.abort();
      await withinMs(deps.clock, WRITE_MS, (within) => port.write(shortFrame(SND_NKE, address), within), signal);
      await deps.clock.sleep(acknowledgeMs, acknowledged.signal);
      if (acknowledged.signal.aborted) found.push(address);
    }
  });
  return found;
}

/** The beginning of what nobody understands: of text its first whole line. */
function inWords(bytes: Buffer): string {
  if (!isText(bytes))
    return `It sends bytes of an unknown kind: ${bytes.subarray(0, 16).toString('hex').replace(/../g, '$& ').trim()}`;
  const [cut = '', line = cut] = bytes.toString('latin1').split(/[\r\n]+/);
  return `It sends lines of text: "${printable(line).slice(0, MAX_SHOWN)}"`;
}

function isSame(one: LineSettings, other: LineSettings): boolean {
  return one.baudRate === other.baudRate && one.dataBits === other.dataBits && one.parity === other.parity;
}

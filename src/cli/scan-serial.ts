/**
 * `turnstone scan serial`: listens on each port at the usual speeds, and shows what it hears with sections for the configuration. Nothing is
 * written to a port unless `--ask` says so: requests of presets, and resets of the M-Bus link, which a meter acknowledges.
 */
import { readFile, realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { DEFAULT_CONFIG_FILE } from '../config/fields/default-places.ts';
import { type SensorConfig, sensorSchema } from '../config/schema/sensors.ts';
import { hasCode, messageOf } from '../errors/agent-error.ts';
import { isNetworkPort } from '../hardware/network-serial.ts';
import type { Ports } from '../hardware/ports.ts';
import type { SerialDescription, SerialPort } from '../hardware/serial-port.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { systemClock } from '../host/clock.ts';
import { FrameCutter, SND_NKE, shortFrame } from '../sensors/mbus/frames.ts';
import type { ScanCall } from './commands/init.ts';
import { Names, serialLines, slotLines } from './first-config.ts';
import { printable } from './printer.ts';
import { amountsOf, type Progress, withProgress } from './progress.ts';
import {
  type Candidate,
  type Guess,
  guessFrom,
  isText,
  keysFrom,
  type LineSettings,
  possibleKeys,
  serialCandidates,
} from './serial-guesses.ts';

/** A port, and what was found out about it. */
export interface HeardPort extends SerialDescription {
  readonly guesses?: readonly Guess[];
  /** Why there is none: silence, or the beginning of what nobody understands, at which settings. */
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
const SILENCE = 'Nothing was heard.';
/** A preset's answer takes as long as one listens, at least this long; all telegrams of an M-Bus meter. */
const MIN_ANSWER_MS = 500;
const METER_MS = 10_000;
/** An acknowledgement begins at most 190 ms after its request at 2400 baud. */
const MIN_ACKNOWLEDGE_MS = 250;
const MBUS = at(2_400, 8, 'even');
const MBUS_ADDRESSES = Array.from({ length: 251 }, (_, address) => address);

export async function scanSerial({ flags, edge, print }: ScanCall, ports: Ports): Promise<void> {
  const isNamed = /^(\/|tcp:)/.test(flags.port);
  const listed = await ports.serial.list(edge.signal).catch((error: unknown) => {
    // A port that is named is listened on, on a machine that cannot list them, too.
    if (isNamed) return [];
    throw error;
  });
  const found = isNamed
    ? [listed.find((one) => [one.path, one.stablePath].includes(flags.port)) ?? { path: flags.port }]
    : listed;
  const candidates = await serialCandidates(flags.config ?? DEFAULT_CONFIG_FILE);
  const heard = await withProgress(edge.stderr, 'listening', (progress) => {
    const onProgress = (done: number, total: number): void => progress.update(done, total, amountsOf('speeds'));
    return listenOn(ports, found, { forMs: flags.for, candidates, onProgress }, edge.signal);
  });
  const asked: HeardPort[] = [];
  for (const port of heard) {
    const ask = (progress: Progress) =>
      askPort(
        ports,
        port,
        {
          candidates,
          addresses: flags.units ?? MBUS_ADDRESSES,
          answerMs: Math.max(MIN_ANSWER_MS, flags.for),
          acknowledgeMs: Math.max(MIN_ACKNOWLEDGE_MS, flags.timeout),
          progress,
        },
        edge.signal,
      );
    asked.push(
      flags.ask === true && port.heard?.what === SILENCE
        ? await withProgress(edge.stderr, `asking on ${port.path}`, ask)
        : port,
    );
  }
  edge.signal.throwIfAborted();
  const names = new Names();
  if (asked.length > 0 || flags.json === true)
    return print.result(asked, () => {
      const slots = flags.devices === true ? [] : undefined;
      const lines = asked.map((port) => `${serialLines(port, names, slots)}\n`).join('');
      return `${slotLines(slots ?? [])}sensors:\n${lines}`;
    });
  edge.stderr.write('nothing found; plug a port in; lsusb and dmesg show whether the kernel sees it\n');
}

/** Listens on all ports at once; they are told apart by what was heard by the time the signal aborts. */
export async function listenOn(
  ports: Ports,
  found: readonly SerialDescription[],
  listening: Listening,
  signal: AbortSignal,
) {
  const consoles = await readFile('/sys/class/tty/console/active', 'utf8').catch(() => '');
  return await Promise.all(
    found.map(async (port): Promise<HeardPort> => {
      const device = basename(await realpath(port.path).catch(() => port.path));
      // Its settings are those of whoever reads the console.
      if (consoles.split(/\s/).includes(device))
        return { ...port, heard: { what: 'It is the console of this machine.' } };
      try {
        return { ...port, ...(await hear(ports, port, listening, signal)) };
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
  ports: Ports,
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
    await withPort(ports, path, settings, async (port) => {
      port.onBytes((more) => {
        bytes = Buffer.concat([bytes, more]).subarray(0, MAX_HEARD_BYTES);
      });
      await systemClock.sleep(forMs, signal);
    });
    if (bytes.length === 0) continue;
    const fitting = candidates.filter(
      (one) => one.settings === undefined || isNetworkPort(path) || isSame(one.settings, settings),
    );
    const guess = await guessFrom({ bytes, settings }, fitting, ports);
    if (guess !== undefined) return { guesses: [guess] };
    unknown.push({ settings, bytes });
  }
  const best = unknown.find(({ bytes }) => isText(bytes)) ?? unknown[0];
  return { heard: best === undefined ? { what: SILENCE } : { settings: best.settings, what: inWords(best.bytes) } };
}

async function withPort(
  ports: Ports,
  path: string,
  settings: LineSettings,
  work: (port: SerialPort) => Promise<void>,
): Promise<void> {
  const port = await withinMs(systemClock, OPEN_MS, (within) => ports.serial.open({ port: path, ...settings }, within));
  await work(port).finally(() => port.close());
}

interface Asking {
  readonly candidates: readonly Candidate[];
  /** Addresses on the M-Bus. */
  readonly addresses: readonly number[];
  readonly answerMs: number;
  readonly acknowledgeMs: number;
  readonly progress: Progress;
}

/** Sends the requests of presets, then a reset to each primary address of the M-Bus. */
async function askPort(ports: Ports, port: HeardPort, asking: Asking, signal: AbortSignal): Promise<HeardPort> {
  const ask = (config: SensorConfig, ms: number) =>
    withinMs(
      systemClock,
      ms,
      (within) => keysFrom({ ...config, port: port.path } as SensorConfig, ports, within),
      signal,
    );
  for (const { name, options, config, settings, isAsked } of asking.candidates) {
    const keys = isAsked && settings !== undefined && !signal.aborted ? await ask(config, asking.answerMs) : [];
    if (settings !== undefined && keys.length > 0)
      return { ...port, guesses: [{ name, options, keys, settings, possible: possibleKeys(config, keys) }] };
  }
  const guesses: Guess[] = [];
  for (const address of await acknowledging(ports, port.path, asking, signal)) {
    const options = { kind: 'mbus', address };
    const keys = await ask(sensorSchema.parse({ name: 'meter', port: port.path, ...options }), METER_MS);
    if (keys.length > 0) guesses.push({ name: 'meter', options, keys, settings: MBUS, possible: keys });
  }
  return guesses.length === 0 ? port : { ...port, guesses };
}

/** Returns the primary addresses whose meters acknowledge a reset of their link. */
async function acknowledging(
  ports: Ports,
  path: string,
  { addresses, acknowledgeMs, progress }: Asking,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const found: number[] = [];
  await withPort(ports, path, MBUS, async (port) => {
    let onAcknowledged = (): void => {};
    const cutter = new FrameCutter((frame) => frame === undefined && onAcknowledged());
    port.onBytes((bytes) => cutter.cutBytes(bytes));
    for (const [done, address] of addresses.entries()) {
      signal.throwIfAborted();
      progress.update(done, addresses.length, amountsOf('M-Bus addresses'));
      const acknowledged = new AbortController();
      onAcknowledged = () => acknowledged.abort();
      await withinMs(systemClock, MIN_ANSWER_MS, (within) => port.write(shortFrame(SND_NKE, address), within), signal);
      await systemClock.sleep(acknowledgeMs, acknowledged.signal);
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

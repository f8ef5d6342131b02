/** What is on serial ports, on the one-wire bus and on GPIO chips. Serial ports are only listened to: nothing is sent to an unknown device. */
import { messageOf } from '../errors.ts';
import type { Ports } from '../hardware/ports.ts';
import type { SerialDescription } from '../hardware/serial-port.ts';
import type { Clock } from '../host/clock.ts';
import { parseW1Slave } from './ds18b20.ts';
import type { Finding } from './finding.ts';
import { excerpt, lineParser } from './line-format.ts';

export interface SerialScanOptions {
  /** Speeds to listen at, in this order. */
  readonly baudRates?: readonly number[];
  /** How long at each, ms. Default 1500: receivers and most sensors print every second. */
  readonly listenMs?: number;
}

const USUAL_BAUD_RATES = [9600, 115_200, 4800, 38_400];
const LISTEN_MS = 1_500;
const THERMOMETER = /^28-/;
const parseJsonLine = lineParser({ format: 'json', separator: ',', key: 'value' });

export async function scanSerial(
  ports: Pick<Ports, 'serial'>,
  clock: Clock,
  options: SerialScanOptions,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const found = await ports.serial.list(signal);
  return await Promise.all(found.map((port) => listenTo(ports, clock, port, options, signal)));
}

export async function scanOneWire(ports: Pick<Ports, 'oneWire'>, signal: AbortSignal): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const id of await ports.oneWire.list(signal)) {
    if (!THERMOMETER.test(id)) {
      findings.push({ where: id, what: 'a one-wire slave of another family', certainty: 'unknown' });
      continue;
    }
    const detail = await ports.oneWire.readSlave(id, signal).then(
      (text) => `${parseW1Slave(text)} °C`,
      (error: unknown) => messageOf(error),
    );
    findings.push({
      where: id,
      what: 'ds18b20',
      certainty: 'sure',
      detail,
      snippet: `- { name: ds18b20-${id.slice(-4)}, kind: ds18b20, id: ${id} }`,
    });
  }
  return findings;
}

/** Every line; the free ones with a snippet. */
export async function scanGpio(ports: Pick<Ports, 'gpio'>, signal: AbortSignal): Promise<readonly Finding[]> {
  return (await ports.gpio.list(signal)).map(({ chip, label, offset, name, holder, direction }) => {
    const where = `${chip} line ${offset}`;
    const what = name ?? `line ${offset} of ${label}`;
    if (holder !== undefined) return { where, what, certainty: 'sure', detail: `held by ${holder}` };
    // A name may stand on several chips; chip and offset never do.
    const snippet = `- { name: line-${offset}, kind: gpio-input, line: { chip: ${chip}, offset: ${offset} } }`;
    return {
      where,
      what,
      certainty: 'sure',
      snippet,
      ...(direction !== undefined && { detail: direction === 'out' ? 'an output' : 'an input' }),
    };
  });
}

async function listenTo(
  ports: Pick<Ports, 'serial'>,
  clock: Clock,
  { path, stablePath, maker }: SerialDescription,
  { baudRates = USUAL_BAUD_RATES, listenMs = LISTEN_MS }: SerialScanOptions,
  signal: AbortSignal,
): Promise<Finding> {
  const port = stablePath ?? path;
  for (const baudRate of baudRates) {
    let text = '';
    try {
      const open = await ports.serial.open({ port: path, baudRate }, signal);
      open.onBytes((bytes) => {
        text += Buffer.from(bytes).toString('latin1');
      });
      await clock.sleep(listenMs, signal);
      await open.close();
    } catch (error) {
      return { where: path, what: 'a port that cannot be opened', certainty: 'unknown', detail: messageOf(error) };
    }
    const guess = guessOf(
      text
        .split('\n')
        .slice(1, -1)
        .map((line) => line.trim()),
    );
    if (guess === undefined) continue;
    return {
      where: path,
      what: guess.kind,
      certainty: 'likely',
      detail: excerpt(guess.line),
      snippet: `- { name: ${guess.kind}-1, kind: ${guess.kind}, port: ${port}, baudRate: ${baudRate}${guess.more} }`,
    };
  }
  return { where: path, what: 'a silent port', certainty: 'unknown', ...(maker !== undefined && { detail: maker }) };
}

/** By the first line that makes sense; at a wrong speed none does. */
function guessOf(
  lines: readonly string[],
): { readonly kind: 'nmea' | 'serial-line'; readonly line: string; readonly more: string } | undefined {
  for (const line of lines) {
    if (/^\$[A-Z]{2}[A-Z]{3},.*\*[0-9A-F]{2}$/i.test(line)) return { kind: 'nmea', line, more: '' };
    if (/^\{.*\}$/.test(line) && isReadable(line)) return { kind: 'serial-line', line, more: ', format: json' };
    const columns = line.split(/[,;]/);
    if (columns.length > 1 && columns.every((column) => /^ *-?\d+(\.\d+)? *$/.test(column))) {
      const separator = line.includes(';') ? ', separator: ";"' : '';
      return {
        kind: 'serial-line',
        line,
        more: `, format: csv${separator}, columns: [${columns.map((_, at) => `column${at + 1}`).join(', ')}]`,
      };
    }
    if (/^-?\d+(\.\d+)?$/.test(line)) return { kind: 'serial-line', line, more: ', format: number' };
  }
  return undefined;
}

function isReadable(line: string): boolean {
  try {
    return parseJsonLine(line).length > 0;
  } catch {
    return false;
  }
}

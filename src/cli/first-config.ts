/** The first configuration of a gateway, as a text that a technician can go on with: what was found is on, what it takes more for is shown. */
import { addressInWords } from '../hardware/i2c-port.ts';
import { oneWireKind } from '../kinds/identify-chip.ts';
import { definitionOf, SENSOR_KINDS, type SensorKind } from '../kinds/sensor-kinds.ts';
import { printable } from './printer.ts';
import type { FoundBoard, FoundChip } from './scan.ts';
import type { HeardPort } from './scan-serial.ts';
import type { LineSettings } from './serial-guesses.ts';

/** Where the device's way to the platform comes from; secrets are named, never held. */
export type CredentialsChoice =
  | { readonly way: 'provision'; readonly keyFile: string; readonly secretFile: string; readonly deviceName: string }
  | { readonly way: 'token-file'; readonly file: string }
  | { readonly way: 'token-variable'; readonly variable: string }
  /** Credentials are in the state folder already, or will be imported. */
  | { readonly way: 'later' };

export interface FirstConfig {
  readonly url: string;
  readonly credentials: CredentialsChoice;
  readonly stateFolder?: string;
  readonly runFolder?: string;
  readonly caFile?: string;
  readonly statusPage?: { readonly page: 'off' | 'loopback' | 'lan'; readonly pinFile?: string };
  /** A simulated board's socket instead of this machine's hardware. */
  readonly boardSocket?: string;
  /** True lets it be changed from afar. */
  readonly remoteConfiguration?: boolean;
  readonly found: FoundBoard;
  /** Each meter on a serial port is a device of its own on the platform. */
  readonly hasDevices?: boolean;
}

export function firstConfigText({ found, hasDevices = false, ...config }: FirstConfig): string {
  const names = new Names();
  const slots: Slot[] = [];
  const sensors = [
    ...SENSOR_KINDS.flatMap(({ everywhere }) => (everywhere === undefined ? [] : [`  - ${everywhere}`])),
    ...found.chips.map((chip) => chipLine(chip, names)),
    ...found.thermometers.map((id) => thermometerLine(id, names)),
    ...found.serialPorts.map((port) => serialLines(port, names, hasDevices ? slots : undefined)),
  ];
  return `# Configuration of the Turnstone agent. Every option is shown in turnstone.example.yaml.
version: 1
platform:
  url: ${quoted(config.url)}
${platformLines(config)}${provisioningLines(config.credentials)}${folderLines(config)}${statusLines(config)}${remoteLines(config)}${slotLines(slots)}sensors:
${sensors.join('\n')}
# actuators:
#   - { name: relay, kind: gpio-output, line: GPIO5, safe: { start: off, stop: off, crash: off } }
# rpc: # methods for dashboards' widgets; with one output their default names (getValue, setValue, …) need none
#   methods:
#     getRelay: { actuator: relay, read: true }
#     setRelay: { actuator: relay }
`;
}

/** The line of a configuration that switches a chip on, without its keys; a comment where nobody knows what it is. */
export function chipSnippet(chip: FoundChip): string {
  return chipLine(chip, new Names(), { isShort: true }).trim();
}

/** An entry of `devices:` for a meter that was found. */
export interface Slot {
  readonly name: string;
  /** Among them that of a serial number, where it gives one. */
  readonly keys: readonly string[];
}

/** Section with an entry for each; nothing for none. */
export function slotLines(slots: readonly Slot[]): string {
  const lines = slots.map(({ name, keys }) => {
    const serial = keys.includes(SERIAL_NUMBER) ? `, serialNumber: { key: ${SERIAL_NUMBER} }` : '';
    return `  - { name: ${name}${serial} }\n`;
  });
  return lines.length === 0 ? '' : `devices: # each a device of its own on the platform\n${lines.join('')}`;
}

const SERIAL_NUMBER = 'serialNumber';

/**
 * Lines of a configuration for what hangs on a serial port; an example as a comment where nobody knows.
 * @param slots gets an entry for each meter, where each is to be a device of its own.
 */
export function serialLines(
  { path, stablePath = path, maker, guesses = [], heard }: HeardPort,
  names: Names,
  slots: Slot[] | undefined,
): string {
  const from = printable(maker === undefined ? path : `${path} (${maker})`);
  const [port, shown] = [yamlText(stablePath), yamlText(path)];
  if (guesses.length === 0) {
    const { settings = { baudRate: 9_600, dataBits: 8, parity: 'none' }, what } = heard ?? {};
    return `  # A serial port: ${from}. What hangs on it?${what === undefined ? '' : ` ${what}`}
  # - { name: ${names.next('serial')}, kind: serial-line, port: ${port}${settingsField(settings)}, format: json }
  # A device that only answers: turnstone scan modbus --port ${shown}, or turnstone scan serial --ask --port ${shown}`;
  }
  return guesses
    .map(({ name: called, options: { kind, ...options }, keys, possible, settings }) => {
      const name = names.next(called);
      slots?.push({ name, keys });
      // A device's keys are its own.
      const isTaken = slots === undefined && possible.map((key) => names.next(key) !== key).includes(true);
      const own = slots === undefined ? {} : { device: name };
      const fields = Object.entries({ ...own, ...(isTaken && { prefix: `${name}.` }), ...options }).map(
        ([option, value]) => `, ${option}: ${value}`,
      );
      const speed = options.preset === undefined ? settingsField(settings) : '';
      return `  # ${from} gives ${printable(keys.join(', '))}.\n  - { name: ${name}, kind: ${kind}, port: ${port}${speed}${fields.join('')} }`;
    })
    .join('\n');
}

function settingsField({ baudRate, dataBits, parity }: LineSettings): string {
  return `, baudRate: ${baudRate}${dataBits === 8 ? '' : `, dataBits: ${dataBits}`}${parity === 'none' ? '' : `, parity: ${parity}`}`;
}

/** A text of others in a flow of YAML, in quotes where it needs them. */
export function yamlText(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : quoted(text);
}

function platformLines({ credentials, caFile }: Omit<FirstConfig, 'found'>): string {
  const variable = credentials.way === 'token-variable' ? `  accessToken: "\${${credentials.variable}}"\n` : '';
  const file = credentials.way === 'token-file' ? credentials.file : undefined;
  return `${optionLine('  accessTokenFile', file)}${variable}${optionLine('  caFile', caFile)}`;
}

/** Nothing, for an option that is not given. */
function optionLine(name: string, value: string | undefined): string {
  return value === undefined ? '' : `${name}: ${quoted(value)}\n`;
}

function provisioningLines(credentials: CredentialsChoice): string {
  if (credentials.way !== 'provision') return '';
  const { deviceName, keyFile, secretFile } = credentials;
  return `provisioning:\n  deviceName: ${quoted(deviceName)}\n  deviceKeyFile: ${quoted(keyFile)}\n  deviceSecretFile: ${quoted(secretFile)}\n`;
}

function statusLines({ statusPage }: Omit<FirstConfig, 'found'>): string {
  return statusPage === undefined
    ? ''
    : `status:\n  page: ${statusPage.page}\n${optionLine('  pinFile', statusPage.pinFile)}`;
}

function remoteLines({ remoteConfiguration = false }: Omit<FirstConfig, 'found'>): string {
  return remoteConfiguration ? 'remoteConfiguration: { enabled: true }\n' : '';
}

function folderLines({ stateFolder, runFolder, boardSocket }: Omit<FirstConfig, 'found'>): string {
  const board =
    boardSocket === undefined ? '' : `hardware: { board: simulated, boardSocket: ${quoted(boardSocket)} }\n`;
  return `${optionLine('stateFolder', stateFolder)}${optionLine('runFolder', runFolder)}${board}`;
}

function chipLine({ bus, address, guess }: FoundChip, names: Names, { isShort = false } = {}): string {
  const place = `bus: ${bus}, address: ${addressInWords(address)}`;
  if (guess === undefined)
    return `  # Somebody answers at ${addressInWords(address)} on bus ${bus}, of an unknown kind; see i2c-register in turnstone.example.yaml.`;
  const doubt = guess.isCertain ? '' : ' # by its address and registers; check what is printed on it';
  const { scan } = definitionOf(guess.kind);
  const name = names.next(guess.kind);
  const options = scan?.options === undefined ? '' : `, ${scan.options((taken) => names.next(taken))}`;
  return `  - { name: ${name}, kind: ${guess.kind}, ${place}${options}${isShort ? '' : keysField(guess.kind, names)} }${doubt}`;
}

function thermometerLine(id: string, names: Names): string {
  const kind = oneWireKind(id);
  if (kind === undefined) return '';
  return `  - { name: ${names.next('thermometer')}, kind: ${kind}, id: ${id}${keysField(kind, names)} }`;
}

/** The decimal places of each key, and a rename where an earlier sensor has it: temperature, temperature2 … */
function keysField(kind: SensorKind, names: Names): string {
  const { units = {}, digits = {} } = definitionOf(kind);
  const rules = Object.keys(units).flatMap((key) => {
    const unique = names.next(key);
    const told = Object.entries({
      ...(unique !== key && { rename: unique }),
      ...(digits[key] !== undefined && { round: digits[key] }),
    });
    return told.length === 0 ? [] : [`${key}: { ${told.map(([option, value]) => `${option}: ${value}`).join(', ')} }`];
  });
  return rules.length === 0 ? '' : `, keys: { ${rules.join(', ')} }`;
}

/** JSON's quotes are YAML's; a dollar is doubled so that no text is taken for a variable. */
function quoted(text: string): string {
  return JSON.stringify(text.replaceAll('${', '$${'));
}

/** Numbers what is asked for again. */
export class Names {
  readonly #used = new Map<string, number>();

  next(name: string): string {
    const count = (this.#used.get(name) ?? 0) + 1;
    this.#used.set(name, count);
    return count === 1 ? name : `${name}${count}`;
  }
}

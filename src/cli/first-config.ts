/** The first configuration of a gateway, as a text that a technician can go on with: what was found is on, what it takes more for is shown. */
import { addressInWords } from '../hardware/i2c-port.ts';
import { oneWireKind } from '../kinds/identify-chip.ts';
import { SENSOR_KINDS } from '../kinds/sensor-kinds.ts';
import { printable } from '../names/printable.ts';
import type { FoundBoard, FoundChip } from '../scan/find-chips.ts';
import { FreeNames } from '../scan/free-names.ts';
import type { HeardPort } from '../scan/listen.ts';
import { chipSection, guessSection, kernelSection, lineFields, thermometerSection } from '../scan/sections.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';

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
  /** Devices at a broker on this machine. */
  readonly atBroker?: AtBroker | undefined;
}

/** Devices at a broker. */
export interface AtBroker {
  /** Entry of `brokers:`. */
  readonly broker: string;
  /** Entries of `sensors:` and `actuators:`, and of `devices:`, with names that are free. */
  readonly propose: (
    names: FreeNames,
    hasDevices: boolean,
  ) => { readonly sensors: string; readonly outputs: string; readonly slots: readonly Slot[] };
}

/** The line of a configuration for a chip that the kernel reads. */
export function kernelSnippet(section: JsonObject): string {
  return `- ${flowText(section)}`;
}

export function firstConfigText({ found, hasDevices = false, atBroker, ...config }: FirstConfig): string {
  const names = new FreeNames();
  const { kernelDevices = [] } = found;
  const slots: Slot[] = [];
  const sensors = [
    ...SENSOR_KINDS.flatMap(({ everywhere }) => (everywhere === undefined ? [] : [`  - ${everywhere}`])),
    ...found.chips.map((chip) => chipLine(chip, names)),
    ...found.thermometers.map((id) => thermometerLine(id, names)),
    ...kernelDevices.map((device) => `  ${kernelSnippet(kernelSection(device, names, { hasKeys: true }))}`),
    ...found.serialPorts.map((port) => serialLines(port, names, hasDevices ? slots : undefined)),
  ];
  const spoken = atBroker?.propose(names, hasDevices);
  slots.push(...(spoken?.slots ?? []));
  const brokers = atBroker === undefined ? '' : `brokers:\n  - ${atBroker.broker}\n`;
  return `# Configuration of the Turnstone agent. Every option is shown in turnstone.example.yaml.
version: 1
platform:
  url: ${quoted(config.url)}
${platformLines(config)}${provisioningLines(config.credentials)}${folderLines(config)}${statusLines(config)}${remoteLines(config)}${slotLines(slots)}${brokers}sensors:
${sensors.join('\n')}
${spoken?.sensors ?? ''}# actuators:
#   - { name: relay, kind: gpio-output, line: GPIO5, safe: { start: off, stop: off, crash: off } }
${commented(spoken?.outputs ?? '')}# rpc: # methods for dashboards' widgets; with one output their default names (getValue, setValue, …) need none
#   methods:
#     getRelay: { actuator: relay, read: true }
#     setRelay: { actuator: relay }
`;
}

/** Lines as comments: what moves something is switched on by a person. */
function commented(lines: string): string {
  return lines.replace(/^(?=.)/gm, '# ');
}

/** The line of a configuration that switches a chip on, without its keys; a comment where nobody knows what it is. */
export function chipSnippet(chip: FoundChip): string {
  return chipLine(chip, new FreeNames(), { isShort: true }).trim();
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
export function serialLines(port: HeardPort, names: FreeNames, slots: Slot[] | undefined): string {
  const { path, stablePath = path, maker, guesses = [], heard } = port;
  const from = printable(maker === undefined ? path : `${path} (${maker})`);
  if (guesses.length === 0) {
    const { settings = { baudRate: 9_600, dataBits: 8, parity: 'none' }, what } = heard ?? {};
    const example = { name: names.next('serial'), kind: 'serial-line', port: stablePath, ...lineFields(settings) };
    return `  # A serial port: ${from}. What hangs on it?${what === undefined ? '' : ` ${what}`}
  # - ${flowText({ ...example, format: 'json' })}
  # A device that only answers: turnstone scan modbus --port ${yamlText(path)}, or turnstone scan serial --ask --port ${yamlText(path)}`;
  }
  return guesses
    .map((guess) => {
      const section = guessSection(port, guess, { names, isDevice: slots !== undefined });
      slots?.push({ name: section.name, keys: guess.keys });
      return `  # ${from} gives ${printable(guess.keys.join(', '))}.\n  - ${flowText(section)}`;
    })
    .join('\n');
}

/** An object in a flow of YAML. */
export function flowText(value: JsonObject): string {
  const fields = Object.entries(value).map(([name, member]) => `${name}: ${flowValue(member ?? null)}`);
  return `{ ${fields.join(', ')} }`;
}

function flowValue(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(flowValue).join(', ')}]`;
  return isJsonObject(value) ? flowText(value) : yamlText(String(value));
}

/** A text of others in a flow of YAML, in quotes where it needs them. */
function yamlText(text: string): string {
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

function chipLine(chip: FoundChip, names: FreeNames, { isShort = false } = {}): string {
  const { bus, address, guess } = chip;
  const section = chipSection(chip, names, { hasKeys: !isShort });
  if (section === undefined)
    return `  # Somebody answers at ${addressInWords(address)} on bus ${bus}, of an unknown kind; see i2c-register in turnstone.example.yaml.`;
  const doubt = guess?.isCertain === true ? '' : ' # by its address and registers; check what is printed on it';
  return `  - ${flowText({ ...section, address: addressInWords(address) })}${doubt}`;
}

function thermometerLine(id: string, names: FreeNames): string {
  const kind = oneWireKind(id);
  return kind === undefined ? '' : `  - ${flowText(thermometerSection(id, kind, names))}`;
}

/** JSON's quotes are YAML's; a dollar is doubled so that no text is taken for a variable. */
function quoted(text: string): string {
  return JSON.stringify(text.replaceAll('${', '$${'));
}

/** Site on one roof: the sensors and actuators that a world has, and the configuration that a technician wrote for them. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { boardForConfig } from '../../src/cli/board-for-config.ts';
import { loadConfig, type ReadConfig, readConfig } from '../../src/config/read-config.ts';
import type { AgentConfig } from '../../src/config/schema/agent-config.ts';
import { actuatorDefinition } from '../../src/kinds/actuator-kinds.ts';
import { definitionOf } from '../../src/kinds/sensor-kinds.ts';
import { loadTwins } from '../../src/kinds/twins.ts';
import { type BoardConfig, parseBoardConfig } from '../../src/stand-ins/simulated-board/board-config.ts';
import type { Twins } from '../../src/stand-ins/simulated-board/twin.ts';
import { loadLinearPatterns } from '../../src/values/linear-pattern.ts';
import { ATTACHED_TITLE } from './attached.ts';
import { type AttachedSlot, attachedLines, attachedOf, sensorOf, withMeters } from './attached-devices.ts';
import { Chance } from './chance.ts';
import { drawEquipment, type Equipment, type EquipmentOptions, type Output, SCANNER, slowed } from './equipment.ts';
import { hasMeasures, measureLines, withMeasures } from './measures.ts';
import { type DrawnOptions, optionsOf } from './options.ts';
import { type RemoteSection, remoteOf, remoteSection } from './remote-section.ts';

export const TOKEN = 'token-of-the-world';
export const DEVICE_NAME = 'gateway';
export const PROVISION_KEY = 'key-of-the-world';
export const PROVISION_SECRET = 'secret-of-the-world';
export const STATE_FOLDER = '/var/lib/turnstone';
export const RUN_FOLDER = '/run/turnstone';
export interface Site {
  readonly outputs: readonly Output[];
  readonly config: AgentConfig;
  readonly board: BoardConfig;
  /** Twins in the sensors' places. */
  readonly twins: Twins;
  /** Sensor and how often it is read. */
  readonly periods: ReadonlyMap<string, number>;
  /** The board's faults may hit these, beside its I2C buses and pins. */
  readonly parts: readonly string[];
  readonly provisions: Provisions;
  /** Devices behind the gateway. */
  readonly attached: readonly AttachedSlot[];
  /** Text of the configuration's file, where it may be changed from afar. */
  readonly remote?: { readonly text: string; readonly section: RemoteSection };
}

/** Parts of a site that a seed draws by themselves, so that whatever else it draws stays as it was. */
interface DrawnApart {
  readonly provisions: Provisions;
  readonly options?: DrawnOptions;
  readonly attached?: readonly AttachedSlot[];
  /** It has a device whose numbers are converted, and values made of them. */
  readonly measures?: boolean;
  readonly remote?: RemoteSection | undefined;
}

/** How it comes to its token: the technician wrote it, or it asks for one as it boots first, and perhaps again when it is refused. */
export type Provisions = 'not' | 'once' | 'again';
/** So many boards come without a token. */
const PROVISIONING_SHARE = 0.2;

/** Draws the equipment, a key switch or none, and the size of segments: small ones are full in a few hours, and stand or go as a whole. */
export function drawSite(
  chance: Chance,
  options: EquipmentOptions = {},
): Equipment & { readonly lockout: boolean; readonly smallOutbox: boolean } {
  const equipment = drawEquipment(chance, options);
  const isPlain = options.sensors !== undefined;
  return { ...equipment, lockout: !isPlain && chance.happens(0.5), smallOutbox: equipment.periods.has(SCANNER) };
}

/** Text of a site's configuration file. */
export function siteYaml(
  site: ReturnType<typeof drawSite>,
  { provisions, options: drawn, attached = [], measures = false, remote }: DrawnApart,
): string {
  const own = attachedLines(attached);
  const { sensors, actuators, rules, lockout, smallOutbox } = site;
  const more = (members: string | undefined): string => (members === undefined || members === '' ? '' : `, ${members}`);
  const section = (name: string, ...members: readonly (string | false | undefined)[]): string => {
    const given = members.filter((one) => typeof one === 'string' && one !== '');
    return given.length === 0 ? '' : `${name}: { ${given.join(', ')} }`;
  };
  const dressed = drawn?.dressed ?? ((line: string) => line);
  const all = (drawn?.largeAlarms === true ? sensors.map(withLargeAlarm) : sensors).map(dressed);
  return `version: 1
platform: { url: "http://platform.example"${provisions === 'not' ? `, accessToken: ${TOKEN}` : ''}${more(drawn?.platform)} }
${provisions === 'not' ? '' : provisioning(provisions)}
stateFolder: ${STATE_FOLDER}
runFolder: ${RUN_FOLDER}
${remote === undefined ? '' : `remoteConfiguration: ${remoteSection(remote)}`}
status: { ${drawn?.status ?? 'page: "off", metrics: false'} }
firmware: { requireSignature: false, chunk: 16kB, handlers: [{ title: ${ATTACHED_TITLE}, program: /bin/sh, arguments: ["{file}", "{version}"] }] }
${section('outbox', smallOutbox && 'maxBytes: 1MB, retain: { bytes: 200kB, for: 12h }', drawn?.outbox)}
${section('link', drawn?.link)}
${section('upload', drawn?.upload)}
${section('attributes', drawn?.attributes)}
${section('shutdown', drawn?.shutdown)}
${section('log', drawn?.log)}
${section('rpc', lockout && 'lockout: { line: { chip: gpiochip0, offset: 6 } }', drawn?.methods !== undefined && drawn.methods !== '' && `methods: { ${drawn.methods} }`)}
${own.devices.length === 0 ? '' : `devices:\n${own.devices.join('\n')}`}
sensors:
${[...all, ...(drawn?.sensors ?? []), ...own.sensors, ...(measures ? measureLines() : [])].join('\n')}
actuators:
${[...actuators.map(dressed), ...(drawn?.actuators ?? []), ...own.actuators].join('\n')}
${rules.length === 0 ? '' : `rules:\n${rules.map(dressed).join('\n')}`}
`;
}

/** A whole number past 2^53 has a limit that no double is. */
function withLargeAlarm(sensor: string): string {
  return sensor.replace(
    /(kind: serial-line, port: \/dev\/ttyUSB3, format: json)/,
    '$1, keys: { turns: { alarms: [{ above: 1200000000000000001, name: many }] } }',
  );
}

export async function makeSite(chance: Chance, drawn: DrawnApart, equipment: EquipmentOptions = {}): Promise<Site> {
  const { provisions, options, attached = [] } = drawn;
  const site = drawSite(chance, equipment);
  const { outputs, parts } = site;
  const ofAttached = attached.map(({ slot, periodSeconds }) => [sensorOf(slot), periodSeconds * 1_000] as const);
  const periods = new Map([...site.periods, ...(options?.periods ?? []), ...ofAttached]);
  const text = siteYaml(site, drawn);
  const config = await configFrom(text);
  // Patterns of methods are compiled as the agent starts.
  await loadLinearPatterns();
  // In a world of virtual time nothing waits for a disk: what the agent loads when a configuration names it is loaded before.
  const ofSensors = config.sensors.map(({ kind }) => definitionOf(kind).driver());
  const ofActuators = config.actuators.map(({ kind }) => actuatorDefinition(kind).driver());
  await Promise.all([...ofSensors, ...ofActuators]);
  const twins = await loadTwins();
  const board = parseBoardConfig(withMeasures(withMeters(slowed(boardForConfig(config, twins)), attached)));
  return {
    outputs,
    config,
    board,
    twins,
    periods,
    parts,
    provisions,
    attached,
    ...(drawn.remote !== undefined && { remote: { text, section: drawn.remote } }),
  };
}

function provisioning(provisions: 'once' | 'again'): string {
  const onUnauthorised = provisions === 'once' ? 'hold' : 'reprovision';
  return `provisioning: { deviceName: ${DEVICE_NAME}, deviceKey: ${PROVISION_KEY}, deviceSecret: ${PROVISION_SECRET}, onUnauthorised: ${onUnauthorised} }`;
}

/** Configuration of a text, through the real reader: what it would refuse is no site. */
export async function configFrom(yaml: string): Promise<AgentConfig> {
  return await withFile(yaml, (file) => loadConfig(file, { environment: {} }));
}

/** The same with every fault. */
export async function readFrom(yaml: string): Promise<ReadConfig> {
  return await withFile(yaml, (file) => readConfig(file, { environment: {} }));
}

async function withFile<T>(yaml: string, read: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-world-'));
  try {
    const file = join(folder, 'turnstone.yaml');
    await writeFile(file, yaml, { mode: 0o600 });
    return await read(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export function drawnApart(seed: number): DrawnApart {
  return {
    provisions: provisionsOf(seed),
    options: optionsOf(seed),
    attached: attachedOf(seed),
    measures: hasMeasures(seed),
    remote: remoteOf(seed),
  };
}

export function provisionsOf(seed: number): Provisions {
  const chance = new Chance(`first boot ${seed}`);
  return chance.happens(PROVISIONING_SHARE) ? chance.pick<Provisions>(['once', 'again']) : 'not';
}

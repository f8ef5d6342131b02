/** What stands on one roof: the sensors and actuators that a world has, and the configuration that a technician wrote for them. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { actuatorDefinition } from '../../src/actuators/kinds.ts';
import { boardForConfig } from '../../src/cli/board-for-config.ts';
import type { AgentConfig } from '../../src/config/agent-config.ts';
import { loadConfig } from '../../src/config/read-config.ts';
import { definitionOf } from '../../src/sensors/kinds.ts';
import { loadTwins } from '../../src/sensors/twins.ts';
import { type BoardConfig, parseBoardConfig } from '../../src/simulated-board/board-config.ts';
import type { Twins } from '../../src/simulated-board/twin.ts';
import { ATTACHED_TITLE } from './attached.ts';
import { Chance } from './chance.ts';
import { drawEquipment, type Equipment, type EquipmentOptions, type Output, SCANNER, slowed } from './equipment.ts';

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
  /** What stands on it in the sensors' places. */
  readonly twins: Twins;
  /** Sensor and how often it is read. */
  readonly periods: ReadonlyMap<string, number>;
  /** The board's faults may hit these, beside its I2C buses and pins. */
  readonly parts: readonly string[];
  readonly provisions: Provisions;
}

/** How it comes to its token: the technician wrote it, or it asks for one as it boots first, and perhaps again when it is refused. */
export type Provisions = 'not' | 'once' | 'again';
/** So many boards come without a token. */
const PROVISIONING_SHARE = 0.2;

/** What is there, whether a key switch locks it out, and whether the segments of the outbox are small: some are full in a few hours, and stand or go as a whole. */
export function drawSite(
  chance: Chance,
  options: EquipmentOptions = {},
): Equipment & { readonly lockout: boolean; readonly smallOutbox: boolean } {
  const equipment = drawEquipment(chance, options);
  const isPlain = options.sensors !== undefined;
  return { ...equipment, lockout: !isPlain && chance.happens(0.5), smallOutbox: equipment.periods.has(SCANNER) };
}

export async function makeSite(chance: Chance, provisions: Provisions, options: EquipmentOptions = {}): Promise<Site> {
  const { sensors, actuators, rules, outputs, periods, parts, lockout, smallOutbox } = drawSite(chance, options);
  const yaml = `version: 1
platform: { url: "http://platform.example"${provisions === 'not' ? `, accessToken: ${TOKEN}` : ''} }
${provisions === 'not' ? '' : provisioning(provisions)}
stateFolder: ${STATE_FOLDER}
runFolder: ${RUN_FOLDER}
status: { page: "off", metrics: false }
firmware: { requireSignature: false, chunk: 16kB, handlers: [{ title: ${ATTACHED_TITLE}, program: /bin/sh, arguments: ["{file}", "{version}"] }] }
${smallOutbox ? 'outbox: { maxBytes: 1MB, retain: { bytes: 200kB } }' : ''}
${lockout ? 'rpc: { lockout: { line: { chip: gpiochip0, offset: 6 } } }' : ''}
sensors:
${sensors.join('\n')}
actuators:
${actuators.join('\n')}
${rules.length === 0 ? '' : `rules:\n${rules.join('\n')}`}
`;
  const config = await configFrom(yaml);
  // In a world of virtual time nothing waits for a disk: what the agent loads when a configuration names it is loaded before.
  const ofSensors = config.sensors.map(({ kind }) => definitionOf(kind).driver());
  const ofActuators = config.actuators.map(({ kind }) => actuatorDefinition(kind).driver());
  await Promise.all([...ofSensors, ...ofActuators]);
  const twins = await loadTwins();
  return { outputs, config, board: parseBoardConfig(slowed(boardForConfig(config, twins))), twins, periods, parts, provisions };
}

function provisioning(provisions: 'once' | 'again'): string {
  const onUnauthorised = provisions === 'once' ? 'hold' : 'reprovision';
  return `provisioning: { deviceName: ${DEVICE_NAME}, deviceKey: ${PROVISION_KEY}, deviceSecret: ${PROVISION_SECRET}, onUnauthorised: ${onUnauthorised} }`;
}

/** Through the real reader: what it would refuse is no site. */
async function configFrom(yaml: string): Promise<AgentConfig> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-world-'));
  try {
    const file = join(folder, 'turnstone.yaml');
    await writeFile(file, yaml, { mode: 0o600 });
    return await loadConfig(file, { environment: {} });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Drawn apart, so that whatever else a seed draws stays as it was. */
export function provisionsOf(seed: number): Provisions {
  const chance = new Chance(`first boot ${seed}`);
  return chance.happens(PROVISIONING_SHARE) ? chance.pick<Provisions>(['once', 'again']) : 'not';
}

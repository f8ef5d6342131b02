/**
 * One YAML file in; one frozen configuration out, or every fault at once.
 *
 *   file → YAML with positions → secrets put in → schema, section by section → cross checks on what is whole → frozen AgentConfig
 *
 * Each section, sensor, actuator and rule is parsed by itself, so that a fault in one hides none in another.
 */
import { AgentError } from '../errors.ts';
import { readWhole } from '../host/durable-file.ts';
import type { Environment } from '../host/environment.ts';
import { type AgentConfig, configSchema } from './agent-config.ts';
import { checkPlatformAccess, checkProvisioning, checkStatusPage } from './checks/access.ts';
import type { Check, Finding } from './checks/draft.ts';
import { checkFiles, checkReadable } from './checks/files.ts';
import { checkFormats, checkPlaceholders } from './checks/formats.ts';
import { checkBias, checkBoard, checkBuses, checkLines, checkSerialPorts } from './checks/hardware.ts';
import { checkAttributeKeys, checkFixedAttributes, checkKeyRules, checkProducedKeys, checkRuleKeys } from './checks/keys.ts';
import { checkNames, checkReferences } from './checks/names.ts';
import { checkAlarms, checkLimits, checkMethodValues, checkRuleValues } from './checks/thresholds.ts';
import { checkActuatorTimes, checkDeliveryTimes, checkSensorTimes } from './checks/timing.ts';
import { ConfigError, type ConfigFault, type PathFault, pathText } from './config-fault.ts';
import { freezeDeeply } from './freeze.ts';
import { parseDraft } from './parse-draft.ts';
import { fieldAt, visitFields } from './schema-walk.ts';
import { resolveSecrets } from './secret-sources.ts';
import { readYaml } from './yaml-source.ts';

export interface ReadConfigDeps {
  readonly environment: Environment;
}

export interface ReadConfig {
  /** Absent when there is a fault. */
  readonly config?: AgentConfig;
  readonly faults: readonly ConfigFault[];
  readonly warnings: readonly ConfigFault[];
}

const CHECKS: readonly Check[] = [
  checkNames,
  checkReferences,
  checkLines,
  checkBuses,
  checkSerialPorts,
  checkBias,
  checkBoard,
  checkKeyRules,
  checkProducedKeys,
  checkAttributeKeys,
  checkFixedAttributes,
  checkRuleKeys,
  checkSensorTimes,
  checkActuatorTimes,
  checkDeliveryTimes,
  checkAlarms,
  checkLimits,
  checkRuleValues,
  checkMethodValues,
  checkFormats,
  checkPlaceholders,
  checkPlatformAccess,
  checkProvisioning,
  checkStatusPage,
];

/** The configuration, frozen. @throws ConfigError `config/invalid` (stop) with every fault; `config/unreadable` (stop). */
export async function loadConfig(path: string, deps: ReadConfigDeps): Promise<AgentConfig> {
  const { config, faults } = await readConfig(path, deps);
  if (config === undefined) throw new ConfigError(path, faults);
  return config;
}

/** The same with warnings, for check-config. @throws AgentError `config/unreadable` (stop) when the file cannot be read. */
export async function readConfig(path: string, deps: ReadConfigDeps): Promise<ReadConfig> {
  const source = readYaml(await readText(path));
  if (source.tree === undefined) return { faults: source.faults, warnings: [] };
  if (typeof source.tree !== 'object' || source.tree === null || Array.isArray(source.tree)) {
    const notMapping: PathFault = {
      path: [],
      problem: 'no configuration in this file',
      expected: 'keys and values, beginning with "version: 1"',
    };
    return { faults: [source.locate(notMapping)], warnings: [] };
  }
  const { tree, faults, hidden } = await resolveSecrets(configSchema, source.tree, deps.environment);
  const { draft, faults: schemaFaults } = parseDraft(tree as Record<string, unknown>);
  const findings: Finding[] = CHECKS.flatMap((check) => check(draft));
  findings.push(...(await checkFiles(configSchema, tree)), ...(await checkReadable(path, holdsSecret(tree, hidden))));
  const place = (fault: PathFault): ConfigFault => source.locate(fault, fieldAt(configSchema, tree, fault.path)?.meta.secret === true);
  // What an unset variable leaves behind is no fault of its own.
  const unresolved = new Set(faults.map(({ path: at }) => pathText(at)));
  const others = [...schemaFaults, ...findings].filter((fault) => !unresolved.has(pathText(fault.path)));
  const found = {
    faults: inOrder([...faults, ...others.filter((fault) => !isWarning(fault))].map(place)),
    warnings: inOrder(others.filter(isWarning).map(place)),
  };
  if (found.faults.length > 0) return found;
  return { config: freezeDeeply(configSchema.parse(tree)), ...found };
}

async function readText(path: string): Promise<string> {
  const content = await readWhole(path).catch((cause: unknown) => {
    throw new AgentError('config/unreadable', `cannot read the configuration ${path}`, { recovery: 'stop', cause });
  });
  if (content === undefined) throw new AgentError('config/unreadable', `there is no configuration ${path}`, { recovery: 'stop' });
  return content.toString('utf8');
}

/** Whether a secret is written in the file itself. */
function holdsSecret(tree: unknown, hidden: ReadonlySet<string>): boolean {
  let found = false;
  visitFields(configSchema, tree, ({ meta, path, value }) => {
    if (meta.secret === true && typeof value === 'string' && !hidden.has(pathText(path))) found = true;
  });
  return found;
}

function isWarning(fault: Finding): boolean {
  return fault.warning === true;
}

function inOrder(faults: readonly ConfigFault[]): ConfigFault[] {
  return faults.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

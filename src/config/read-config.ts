/**
 * One YAML file in; one frozen configuration out, or every fault at once.
 *
 *   file → YAML with positions → templates expanded → secrets put in → registers of models put in → schema, section by section → cross checks on
 *   what is whole → frozen AgentConfig
 *
 * Each section, sensor, actuator and rule is parsed by itself, so that a fault in one hides none in another.
 */

import type { Environment } from '../host/environment.ts';
import type { MayRead } from '../host/service-reader.ts';
import { ACTUATOR_KINDS } from '../kinds/actuator-kinds.ts';
import { SENSOR_KINDS } from '../kinds/sensor-kinds.ts';
import { loadLinearPatterns, patternProblem } from '../values/linear-pattern.ts';
import { configFileHash } from './changes/config-diff.ts';
import { checkCertificates } from './checks/access.ts';
import { CHECKS, CHECKS_OF_PARTS } from './checks/all-checks.ts';
import type { ConfigDraft } from './checks/draft.ts';
import { checkDrivers } from './checks/drivers.ts';
import { checkExpressions } from './checks/expressions.ts';
import { checkFiles, checkFolders, checkForService, checkReadable } from './checks/files.ts';
import { checkPortNames } from './checks/port-names.ts';
import { expandTemplates } from './expand-templates.ts';
import { ConfigError, type ConfigFault, type ConfigPath, type PathFault, pathText } from './fields/config-fault.ts';
import { type Finding, finding } from './fields/findings.ts';
import { namesLine, withLines } from './models/with-lines.ts';
import type { WithPresets } from './models/with-presets.ts';
import { freezeDeeply, parseDraft, wholeConfig } from './parse-draft.ts';
import { readConfigBytes } from './peek-config.ts';
import { inOrder, inPlace } from './placed-faults.ts';
import { type AgentConfig, configSchema } from './schema/agent-config.ts';
import { visitFields } from './schema/schema-walk.ts';
import { resolveSecrets } from './secret-sources.ts';
import { isMapping } from './template-words.ts';
import { readYaml } from './yaml/yaml-source.ts';

export interface ReadConfigDeps {
  readonly environment: Environment;
  /** Asked for the service, where who checks may read more than it. */
  readonly mayRead?: MayRead | undefined;
  /** Bytes that stand for those of the file, whose folder and rights still count: a file that is to take its place. */
  readonly bytes?: Uint8Array | undefined;
}

export interface ReadConfig {
  /** Absent when there is a fault. */
  readonly config?: AgentConfig;
  /** Without what named files would bring, when nothing is wrong but that they are not there now. */
  readonly meanwhile?: AgentConfig;
  readonly faults: readonly ConfigFault[];
  readonly warnings: readonly ConfigFault[];
  /** The actuators as the file names them, with its variables. */
  readonly written?: unknown;
  /** SHA-256 of the file as it was read. */
  readonly fileHash?: string;
}

/** The configuration, frozen. @throws ConfigError `config/invalid` (stop) with every fault; `config/unreadable` (stop, or retry for a disk that does not answer). */
export async function loadConfig(path: string, deps: ReadConfigDeps): Promise<AgentConfig> {
  const { config, faults } = await readConfig(path, deps);
  if (config === undefined) throw new ConfigError(path, faults);
  return config;
}

/**
 * The same for who can live without files that are named and are not there now, and looks for them again; what they would bring is absent.
 * @throws as `loadConfig`, for every other fault.
 */
export async function loadConfigToRun(
  path: string,
  deps: ReadConfigDeps,
): Promise<
  { readonly config: AgentConfig; readonly missing: readonly ConfigFault[] } & Pick<ReadConfig, 'written'> &
    Partial<Pick<ReadConfig, 'warnings' | 'fileHash'>>
> {
  const { config, meanwhile = config, faults, warnings, written, fileHash } = await readConfig(path, deps);
  if (meanwhile === undefined) throw new ConfigError(path, faults);
  return { config: meanwhile, missing: faults, warnings, written, fileHash };
}

/** The same with warnings, for check-config. @throws AgentError `config/unreadable` (stop, or retry) when the file cannot be read. */
export async function readConfig(path: string, deps: ReadConfigDeps): Promise<ReadConfig> {
  const bytes = deps.bytes ?? (await readConfigBytes(path));
  const yaml = readYaml(bytes);
  const { tree: written, spoilt } = yaml.remains ?? { tree: yaml.tree, spoilt: [] };
  const source = expandTemplates({ ...yaml, tree: written });
  if (!isMapping(source.tree)) {
    if (source.faults.length > 0) return { faults: source.faults, warnings: [] };
    const notMapping = finding([], 'no configuration in this file', 'keys and values, beginning with "version: 1"');
    return { faults: [source.locate(notMapping, true)], warnings: [] };
  }
  const resolved = await resolveSecrets(configSchema, source.tree, deps.environment);
  const { hidden } = resolved;
  const {
    root: tree,
    faults: unmodelled,
    ofFile,
  } = await withNamedModels(resolved.tree as Record<string, unknown>, path);
  const isSpoilt = (fault: PathFault): boolean =>
    spoilt.some((place) => isWithin(source.origin(fault.path).path, place));
  const faults = [...resolved.faults, ...unmodelled];
  const where = { schema: configSchema, source, tree, hidden };
  const placed = (all: readonly PathFault[]): readonly ConfigFault[] => inPlace(all.map(ofFile), where);
  const tooMany = tooManyPatterns(tree);
  if (tooMany !== undefined)
    return { faults: inOrder([...source.faults, ...placed([...faults, tooMany])]), warnings: [] };
  faults.push(...(await patternFaults(tree)));
  const { draft, partial, partialPaths, faults: parsed } = parseDraft(tree, unmodelled);
  const schemaFaults = await withOtherWays(parsed, tree);
  // A tree that is not whole is looked at section by section: items that are not there would be missed everywhere.
  if (source.faults.length > 0) {
    const told = [...faults, ...schemaFaults].filter((fault) => !isSpoilt(fault));
    return { faults: inOrder([...source.faults, ...placed(told)]), warnings: [] };
  }
  const ofWhole = CHECKS.flatMap((check) => check(draft));
  const findings: Finding[] = [
    ...schemaFaults,
    ...ofWhole,
    ...(partial === undefined ? [] : findingsOfParts(partial, partialPaths, schemaFaults, ofWhole)),
    ...(await checkFiles(configSchema, tree)),
    ...(await checkFolders(draft)),
    ...(await checkPortNames(draft)),
    ...(await checkExpressions(draft)),
    ...(await checkDrivers(draft)),
    ...(await checkCertificates(draft)),
    ...(await checkForService(configSchema, tree, path, deps.mayRead)),
    ...(await checkReadable(path, holdsSecret(tree, hidden))),
  ];
  // Remains of an unset variable or a broken pattern are no fault of their own.
  const unresolved = new Set(faults.map(({ path: at }) => pathText(at)));
  const others = findings.filter((fault) => !unresolved.has(pathText(fault.path)));
  const { warnings = [], wrong = [] } = Object.groupBy(others, ({ warning }) =>
    warning === true ? 'warnings' : 'wrong',
  );
  const found = {
    faults: placed([...faults, ...wrong]),
    warnings: inOrder([...source.warnings, ...placed(warnings)]),
    written: source.tree.actuators,
    fileHash: configFileHash(bytes),
  };
  if (found.faults.length === 0) return { config: freezeDeeply(wholeConfig(draft)), ...found };
  const isMeanwhile = schemaFaults.length === 0 && found.faults.every(({ mayPass }) => mayPass === true);
  return isMeanwhile ? { meanwhile: freezeDeeply(wholeConfig(draft)), ...found } : found;
}

/**
 * Faults of what could be read of sections and items that are at fault otherwise. Those of a place that is told of already, and of a section or item
 * as a whole, are left out: a member that was taken out may be what they miss. So are those of a member that was taken out of another item of the
 * same list, where its default stands now.
 */
function findingsOfParts(
  draft: ConfigDraft,
  parts: readonly ConfigPath[],
  unreadable: readonly PathFault[],
  told: readonly Finding[],
): readonly Finding[] {
  const memberOf = ([list, , member]: ConfigPath): string => `${list} ${member}`;
  const left = new Set([...unreadable, ...told, ...parts.map((path) => ({ path }))].map(({ path }) => pathText(path)));
  const takenOut = new Set(unreadable.filter(({ path }) => path.length === 3).map(({ path }) => memberOf(path)));
  return CHECKS_OF_PARTS.flatMap((check) => check(draft)).filter(
    ({ path }) => !left.has(pathText(path)) && !(path.length === 3 && takenOut.has(memberOf(path))),
  );
}

function isWithin(path: ConfigPath, place: ConfigPath): boolean {
  return place.every((part, depth) => path[depth] === part);
}

/** A tree that names no line and no model loads nothing for them. */
async function withNamedModels(written: Record<string, unknown>, path: string): Promise<WithPresets> {
  const isOnLine = [written.sensors, written.actuators].some((items) => Array.isArray(items) && items.some(namesLine));
  const lines = isOnLine ? withLines(written) : { root: written, faults: [] };
  const models = await withModelsAndPresets(lines.root, path);
  return { root: models.root, ofFile: models.ofFile, faults: [...lines.faults, ...models.faults] };
}

async function withModelsAndPresets(root: Readonly<Record<string, unknown>>, path: string): Promise<WithPresets> {
  const { sensors } = root;
  if (!Array.isArray(sensors) || !sensors.some((sensor) => typeof (sensor?.model ?? sensor?.preset) === 'string'))
    return { root, faults: [], ofFile: (fault) => fault };
  const models = await (await import('./models/with-models.ts')).withModels(root, path);
  const presets = await (await import('./models/with-presets.ts')).withPresets(models.root, path);
  return { ...presets, faults: [...models.faults, ...presets.faults] };
}

/** Faults of kinds that this house does not have, with the way on which their values come all the same, where one is known. */
async function withOtherWays(faults: readonly PathFault[], tree: unknown): Promise<readonly PathFault[]> {
  if (!faults.some(isOfKind)) return faults;
  const { wayOf } = await import('../kinds/other-kinds.ts');
  return faults.map((fault) => {
    const [list, at, member] = fault.path;
    if (!isOfKind(fault) || (list !== 'sensors' && list !== 'actuators')) return fault;
    const written = (tree as Record<string, Record<string | number, Record<string, unknown>>>)[list]?.[at ?? '']?.[
      member ?? ''
    ];
    const known = (list === 'sensors' ? SENSOR_KINDS : ACTUATOR_KINDS).map(({ kind }) => kind);
    const hint = typeof written === 'string' ? wayOf({ written, list, known }) : undefined;
    return hint === undefined ? fault : { ...fault, hint };
  });
}

function isOfKind({ path }: PathFault): boolean {
  return path.length === 3 && path[2] === 'kind';
}

/** True when a secret is written in the file itself. */
function holdsSecret(tree: unknown, hidden: ReadonlyMap<string, unknown>): boolean {
  let found = false;
  visitFields(configSchema, tree, ({ meta, path, value }) => {
    if (meta.secret === true && typeof value === 'string' && !hidden.has(pathText(path))) found = true;
  });
  return found;
}

/** Sum over all distinct patterns; less than a second of work. A thousand sensors that write their values alike have one between them. */
const MAX_CHARACTERS = 32_000;

/** Asked before any of them is made. */
function tooManyPatterns(tree: unknown): PathFault | undefined {
  const seen = new Set<string>();
  let characters = 0;
  let fault: PathFault | undefined;
  visitFields(configSchema, tree, ({ meta, path, value }) => {
    if (meta.format !== 'regex' || typeof value !== 'string' || seen.has(value)) return;
    seen.add(value);
    characters += value.length;
    if (characters > MAX_CHARACTERS)
      fault ??= {
        path,
        problem: 'too many regular expressions in one file:',
        expected: `at most ${MAX_CHARACTERS} characters of them`,
      };
  });
  return fault;
}

/** Returns the faults of all patterns; the engine is loaded only where there is one to check. */
async function patternFaults(tree: unknown): Promise<readonly PathFault[]> {
  const patterns: { readonly path: PathFault['path']; readonly source: string }[] = [];
  visitFields(configSchema, tree, ({ meta, path, value }) => {
    if (meta.format === 'regex' && typeof value === 'string' && value !== '') patterns.push({ path, source: value });
  });
  if (patterns.length === 0) return [];
  const compile = await loadLinearPatterns();
  const problems = new Map(patterns.map(({ source }) => [source, undefined as string | undefined]));
  for (const source of problems.keys()) problems.set(source, patternProblem(compile, source));
  return patterns.flatMap(({ path, source }) => {
    const expected = problems.get(source);
    return expected === undefined ? [] : [{ path, expected }];
  });
}

/** Puts the options of named presets below those of a configuration's serial sensors, before it is parsed. */
import { type ModelFile, modelFiles } from '../../host/model-files.ts';
import { CHANNEL_NUMBER } from '../fields/channels.ts';
import type { PathFault } from '../fields/config-fault.ts';
import { didYouMean, oneOf } from '../fields/did-you-mean.ts';
import { type Brought, toldOfFile } from './brought-options.ts';
import { meantDevice } from './meant-device.ts';
import { isMapping, withOwnWords } from './own-words.ts';
import { A_PRESET, type Preset, readPreset } from './preset-file.ts';

type Mapping = Readonly<Record<string, unknown>>;
type PresetOptions = Pick<Preset, 'name' | 'sensor' | 'variants'>;

/** Options that hold words by key. */
const BY_KEY = ['keys', 'fields'] as const;
const REQUESTS = ['request', 'requestHex'] as const;

export interface WithPresets {
  readonly root: Mapping;
  readonly faults: readonly PathFault[];
  /** A fault in what a preset brought, told of its file; others are the same. */
  readonly ofFile: (fault: PathFault) => PathFault;
}

/** The same tree with the options of its presets. @param root whose sensors are a list. */
export async function withPresets(root: Mapping, configFile: string): Promise<WithPresets> {
  const written = root.sensors as readonly unknown[];
  const files = written.some(namesPreset) ? await modelFiles(configFile, 'presets') : [];
  const faults: PathFault[] = [];
  const brought = new Map<number, Brought>();
  const sensors: unknown[] = [];
  for (const [at, sensor] of written.entries()) {
    if (!namesPreset(sensor)) {
      sensors.push(sensor);
      continue;
    }
    const file = files.find(({ name }) => name === sensor.preset);
    const preset = file && (await readPreset(file));
    const options = preset && optionsOf(preset, sensor.variant);
    if (preset === undefined)
      faults.push({ ...presetFault(sensor.preset, file, files), path: ['sensors', at, 'preset'] });
    else if (options === undefined)
      faults.push({ ...variantFault(preset, sensor.variant), path: ['sensors', at, 'variant'] });
    if (file !== undefined && options !== undefined) brought.set(at, { file: file.path, options, own: sensor });
    sensors.push(
      options === undefined
        ? sensor
        : { ...withoutRequest(options, sensor), ...sensor, ...wordsByKey(withoutOtherKeys(options, sensor), sensor) },
    );
  }
  return { root: { ...root, sensors }, faults, ofFile: (fault) => toldOfFile(fault, brought) };
}

function namesPreset(sensor: unknown): sensor is Mapping & { readonly preset: string } {
  const { kind, preset: name } = (sensor ?? {}) as Mapping;
  return kind === 'serial-line' && typeof name === 'string';
}

/** Options of a preset in a variant; undefined when it has none of that name. */
function optionsOf({ sensor, variants }: PresetOptions, variant: unknown): Mapping | undefined {
  if (variant === undefined) return sensor;
  const chosen = Object.entries(variants).find(([name]) => name === variant)?.[1];
  return chosen && { ...sensor, ...chosen, ...wordsByKey(sensor, chosen) };
}

/** Options under which the sensor's own stand: a request of its own takes the place of both spellings. */
function withoutRequest(options: Mapping, sensor: Mapping): Mapping {
  const { request, requestHex, ...others } = options;
  return REQUESTS.some((option) => sensor[option] !== undefined) ? others : options;
}

/** Options without the words of keys that a pattern of the sensor's own does not give; those of channels stay. */
function withoutOtherKeys(options: Mapping, sensor: Mapping): Mapping {
  const { pattern, channels = options.channels } = sensor;
  if (typeof pattern !== 'string' || !isMapping(options.keys)) return options;
  const ofTypes = isMapping(channels) && isMapping(channels.keys) ? Object.values(channels.keys) : [];
  const isGiven = (key: string): boolean =>
    pattern.includes(`(?<${key}>`) || ofTypes.includes(key) || ofTypes.includes(key.replace(CHANNEL_NUMBER, ''));
  return { ...options, keys: Object.fromEntries(Object.entries(options.keys).filter(([key]) => isGiven(key))) };
}

function wordsByKey(options: Mapping, sensor: Mapping): Mapping {
  const given = BY_KEY.filter((option) => isMapping(options[option]));
  return Object.fromEntries(given.map((option) => [option, withOwnWords(options[option] as Mapping, sensor[option])]));
}

function variantFault({ name, variants }: PresetOptions, variant: unknown): Omit<PathFault, 'path'> {
  const known = Object.keys(variants);
  if (known.length === 0) return { problem: `${name} has no variants:`, expected: 'a preset that has some' };
  return { problem: `no such variant of ${name}:`, expected: oneOf(known), ...didYouMean(String(variant), known) };
}

function presetFault(name: string, file: ModelFile | undefined, files: readonly ModelFile[]): Omit<PathFault, 'path'> {
  if (file !== undefined) return { problem: `${file.path} is no preset:`, expected: A_PRESET };
  const known = [...new Map(files.map((one) => [one.name, one])).values()];
  return { problem: 'no such preset:', expected: oneOf(known.map((one) => one.name)), ...meantDevice(name, known) };
}

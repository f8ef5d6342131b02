/** Puts the options of named presets below those of a configuration's serial sensors, before it is parsed: one file for each preset. */
import { z } from 'zod';
import { readUserFile } from '../../host/durable-file.ts';
import { type ModelFile, modelFiles } from '../../host/model-files.ts';
import type { PathFault } from '../fields/config-fault.ts';
import { didYouMean, oneOf } from '../fields/did-you-mean.ts';
import { section, table } from '../fields/fields.ts';
import { readYaml } from '../yaml/yaml-source.ts';

type Mapping = Readonly<Record<string, unknown>>;

/** A device's options are a hundred lines at most. */
const MAX_FILE_BYTES = 64 * 1024;

const preset = section({
  title: z.string().min(1),
  /** Where the facts were found. */
  source: z.string().min(1).optional(),
  /** Options of a serial-line sensor; checked when the sensor is whole. */
  sensor: table(z.string(), z.unknown()),
});

/** The same tree with the options of its presets. @param root whose sensors are a list. */
export async function withPresets(root: Mapping, configFile: string): Promise<{ root: Mapping; faults: readonly PathFault[] }> {
  const written = root.sensors as readonly unknown[];
  const files = written.some(namesPreset) ? await modelFiles(configFile, 'presets') : [];
  const faults: PathFault[] = [];
  const sensors: unknown[] = [];
  for (const [at, sensor] of written.entries()) {
    if (!namesPreset(sensor)) {
      sensors.push(sensor);
      continue;
    }
    const file = files.find(({ name }) => name === sensor.preset);
    const options = file && (await optionsIn(file));
    if (options === undefined) faults.push({ ...presetFault(sensor.preset, file, files), path: ['sensors', at, 'preset'] });
    sensors.push({ ...options, ...sensor });
  }
  return { root: { ...root, sensors }, faults };
}

function namesPreset(sensor: unknown): sensor is Mapping & { readonly preset: string } {
  const { kind, preset: name } = (sensor ?? {}) as Mapping;
  return kind === 'serial-line' && typeof name === 'string';
}

/** Undefined for a file that is no preset. */
async function optionsIn({ path }: ModelFile): Promise<Mapping | undefined> {
  const content = await readUserFile(path, MAX_FILE_BYTES).catch(() => undefined);
  const { tree, faults } = readYaml(content ?? new Uint8Array());
  const parsed = preset.safeParse(tree);
  return faults.length === 0 && parsed.success ? parsed.data.sensor : undefined;
}

function presetFault(name: string, file: ModelFile | undefined, files: readonly ModelFile[]): Omit<PathFault, 'path'> {
  if (file !== undefined) return { problem: `${file.path} is no preset:`, expected: 'title: and sensor: with options of a serial-line' };
  const known = [...new Set(files.map((one) => one.name))];
  return { problem: 'no such preset:', expected: oneOf(known), ...didYouMean(name, known) };
}

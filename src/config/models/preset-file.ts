/** Presets: one file for each device on a serial line, with the options of a serial-line sensor that read it. */
import { z } from 'zod';
import { type ModelFile, modelFiles } from '../../host/model-files.ts';
import { readUserFile } from '../../host/whole-file.ts';
import { serialLine } from '../../sensors/serial-line/definition.ts';
import { section, table } from '../fields/fields.ts';
import { readYaml } from '../yaml/yaml-source.ts';

/** A device's options are a hundred lines at most. */
const MAX_FILE_BYTES = 64 * 1024;
export const A_PRESET = 'title: and sensor: with options of a serial-line';

const preset = section({
  title: z.string().min(1),
  /** Where the facts were found. */
  source: z.string().min(1).optional(),
  /** Bytes by which the release holds it: those of a device, or the example of its document. */
  fixture: z.enum(['recorded', 'worked example']).optional(),
  /** Options of a serial-line sensor; checked when the sensor is whole. */
  sensor: table(z.string(), z.unknown()),
  /** Ways to set or build the device that change what its bytes mean: options over those of the sensor. The first has none, and is the default. */
  variants: table(z.string().regex(/^[a-z0-9][a-z0-9.-]{0,62}$/), table(z.string(), z.unknown())).default({}),
});

export interface Preset extends z.infer<typeof preset> {
  readonly name: string;
  readonly file: ModelFile;
  /** Unit by key; none where only the lines tell the keys. */
  readonly units: Readonly<Record<string, string | null>>;
}

/** Undefined for a file that is no preset. */
export async function readPreset(file: ModelFile): Promise<Omit<Preset, 'units'> | undefined> {
  const content = await readUserFile(file.path, MAX_FILE_BYTES).catch(() => undefined);
  const { tree, faults } = readYaml(content ?? new Uint8Array());
  const parsed = preset.safeParse(tree);
  return faults.length === 0 && parsed.success ? { name: file.name, file, ...parsed.data } : undefined;
}

/** Every preset, a person's own in place of one that is shipped under its name, and the files that are none. */
export async function allPresets(
  configFile: string,
): Promise<{ readonly presets: readonly Preset[]; readonly wrong: readonly string[] }> {
  const presets = new Map<string, Preset>();
  const wrong: string[] = [];
  for (const file of await modelFiles(configFile, 'presets')) {
    const found = await readPreset(file);
    const sensor = serialLine.schema.safeParse({
      name: file.name,
      kind: 'serial-line',
      port: '/dev/ttyUSB0',
      ...found?.sensor,
    });
    if (found === undefined || !sensor.success) wrong.push(file.path);
    else if (!presets.has(file.name)) presets.set(file.name, { ...found, units: unitsOf(sensor.data) });
  }
  return { presets: [...presets.values()].sort((a, b) => a.name.localeCompare(b.name)), wrong };
}

function unitsOf(sensor: z.infer<typeof serialLine.schema>): Preset['units'] {
  const keys = serialLine.keys?.({ ...sensor, deadlineMs: 0 }) ?? [];
  return Object.fromEntries(keys.map((key) => [key, sensor.keys[key]?.unit ?? sensor.fields?.[key]?.unit ?? null]));
}

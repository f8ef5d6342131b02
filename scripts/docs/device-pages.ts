/** A page for every preset of a serial-line sensor, and one for every model of a modbus sensor. */
import { relative } from 'node:path';
import { stringify } from 'yaml';
import { allModels } from '../../src/config/models/find-models.ts';
import type { Model } from '../../src/config/models/model-file.ts';
import { allPresets, type Preset } from '../../src/config/models/preset-file.ts';
import { ROOT } from '../bundle.ts';
import { CONFIG_HEAD } from './example-text.ts';
import type { ReferencePage } from './kind-pages.ts';
import { block, code, filledTable, list, page, part, plain, table } from './markdown.ts';

/** Beside it no person's own models lie. */
const NO_CONFIG = '/nonexistent/turnstone.yaml';
const FIXTURES = {
  recorded: 'bytes that a device sent',
  'worked example': 'the worked example of its document',
} as const;
/** Options of a preset that its tables show in another way, or that are its own affair. */
const NOT_SHOWN = new Set(['keys', 'fields', 'pattern', 'columns']);

export async function presetPages(): Promise<readonly ReferencePage[]> {
  const { presets, wrong } = await allPresets(NO_CONFIG);
  if (wrong.length > 0) throw new Error(`no presets: ${wrong.join(', ')}`);
  return presets.map((preset) => ({
    path: `presets/${preset.name}.md`,
    name: preset.name,
    says: plain(preset.title),
    text: presetText(preset),
  }));
}

function presetText({ name, title, source, fixture, units, sensor, variants, file }: Preset): string {
  const example = exampleOf([
    `name: ${name}`,
    'kind: serial-line',
    `port: /dev/serial/by-id/usb-${name}`,
    `preset: ${name}`,
  ]);
  const options = Object.entries(sensor).filter(([option]) => !NOT_SHOWN.has(option));
  return page(plain(title), [
    `Preset ${code(name)} of a [serial-line](../sensors/serial-line.md) sensor.`,
    part(
      'A configuration that works',
      block('yaml', example),
      'The port is that of your gateway: `turnstone scan serial` lists them.',
    ),
    part(
      'Keys',
      filledTable(
        ['Key', 'Unit'],
        Object.entries(units).map(([key, unit]) => [code(key), unit ?? '']),
      ),
    ),
    part('Variants', variantsText(Object.keys(variants))),
    part('Options that it sets', 'Options of the sensor itself stand in their place.', optionsTable(options)),
    part(
      'When it does not answer',
      list(['Check the wiring, the port and its speed.', '`turnstone scan serial` shows what comes through the port.']),
    ),
    part(
      'Source',
      list([
        ...(source === undefined ? [] : [plain(source)]),
        ...(fixture === undefined ? [] : [`Tested with ${FIXTURES[fixture]}.`]),
        sourceLink(file.path),
      ]),
    ),
  ]);
}

function variantsText(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  return `${names.map((name) => code(`variant: ${name}`)).join(', ')}: how your device is built or set. Without one it is the first.`;
}

/** Whole configuration with one sensor, of these options. */
function exampleOf(options: readonly string[]): string {
  return `${CONFIG_HEAD}sensors:\n  - ${options.join('\n    ')}\n`;
}

function optionsTable(options: readonly (readonly [string, unknown])[]): string | undefined {
  return table(
    ['Option', 'Value'],
    options.map(([option, value]) => [code(option), code(valueText(value))]),
  );
}

function valueText(value: unknown): string {
  return typeof value === 'string'
    ? JSON.stringify(value)
    : stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
}

export async function modelPages(): Promise<readonly ReferencePage[]> {
  const { models, faults } = await allModels(NO_CONFIG);
  if (faults.length > 0)
    throw new Error(`faults in models: ${faults.map(({ file, problem }) => `${file}: ${problem}`).join(', ')}`);
  return models.map((model) => ({
    path: `models/${model.name}.md`,
    name: model.name,
    says: plain(`${model.maker} ${model.title}`),
    text: modelText(model),
  }));
}

function modelText({
  name,
  maker,
  title,
  registers,
  sources,
  verified,
  oneSource,
  baudRate,
  sensor,
  file,
}: Model): string {
  const connection =
    baudRate === undefined
      ? '{ transport: tcp, host: 192.168.1.50 }'
      : `{ transport: rtu, port: /dev/ttyUSB0, baudRate: ${baudRate} }`;
  const example = exampleOf([
    'name: meter',
    'kind: modbus',
    `model: ${name}`,
    `connection: ${connection}`,
    'unitId: 1',
  ]);
  const other =
    baudRate === undefined
      ? 'On a serial line: `connection: { transport: rtu, port: /dev/ttyUSB0, baudRate: 9600 }`.'
      : 'Behind a converter: `connection: { transport: rtu-over-tcp, host: 192.168.1.50, port: 502 }`.';
  const set = [
    ...Object.entries(sensor.connection ?? {}).map(([option, value]) => [`connection.${option}`, value] as const),
    ...(sensor.maxGap === undefined ? [] : [['maxGap', sensor.maxGap] as const]),
  ];
  const isMixed = verified === 'two-sources' && oneSource.length > 0;
  const rows = Object.entries(registers).map(
    ([key, { unit = '', table: of = 'holding', address, type = 'uint16', scale = 1 }]) => [
      code(key),
      plain(String(unit)),
      String(of),
      addressText(address),
      String(type),
      String(scale),
      ...(isMixed ? [oneSource.includes(key) ? 'one source' : 'two sources'] : []),
    ],
  );
  return page(plain(`${maker} ${title}`), [
    `Model ${code(name)} of a [modbus](../sensors/modbus.md) sensor.`,
    part(
      'A configuration that works',
      block('yaml', example),
      `Address, port and unit number are those of your device. ${other} \`only: [KEY, …]\` reads fewer keys.`,
    ),
    set.length === 0
      ? undefined
      : part('Options that it sets', 'Options of the sensor itself stand in their place.', optionsTable(set)),
    part('Keys', table(['Key', 'Unit', 'Table', 'Address', 'Type', 'Scale', ...(isMixed ? ['Verified'] : [])], rows)),
    part(
      'When it does not answer',
      list([
        'Check the wiring (A, B, ground), the speed, the parity and the unit number.',
        'Over the network: see that Modbus is switched on in the device.',
        '`turnstone scan modbus` finds units on a line.',
      ]),
    ),
    part(
      'Source',
      list([
        verified === 'two-sources'
          ? `Compared with a second, independent source${isMixed ? ', where the table says so' : ''}.`
          : 'From one source: compare its values with the device’s display.',
        ...sources.map(({ title: of, document, repository, path }) =>
          plain([of, document ?? repository, path].filter(Boolean).join(', ')),
        ),
        sourceLink(file.path),
      ]),
    ),
  ]);
}

function addressText(address: unknown): string {
  return typeof address === 'number' ? `${address} (0x${address.toString(16).padStart(4, '0')})` : String(address);
}

function sourceLink(path: string): string {
  const below = relative(ROOT, path);
  return `[${code(below)}](../../../${below})`;
}

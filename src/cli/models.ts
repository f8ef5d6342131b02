/** The models and presets of devices: a line for each, or all that is known of one. */
import { allModels } from '../config/models/find-models.ts';
import { meantDevice } from '../config/models/meant-device.ts';
import type { Model } from '../config/models/model-file.ts';
import { A_PRESET, allPresets, type Preset } from '../config/models/preset-file.ts';
import { printable } from '../names/printable.ts';
import type { ModelsCall } from './commands/models.ts';
import { EXIT, usageError } from './exit-code.ts';
import type { Printer } from './printer.ts';

export async function showModels({ args: { name }, flags: { config }, edge, print }: ModelsCall): Promise<void> {
  const { models, faults } = await allModels(config);
  const { presets, wrong } = await allPresets(config);
  const named = <One extends { readonly name: string }>(all: readonly One[]) =>
    name === '' ? all : all.filter((one) => one.name === name);
  const [shown, lines] = [named(models), named(presets)];
  if (shown.length + lines.length === 0 && name !== '') {
    const { hint = 'turnstone models lists them all' } = meantDevice(name, [...models, ...presets]);
    throw usageError(`there is no model ${name}`, { nextStep: hint });
  }
  print.result([...shown.map(modelFacts), ...lines.map(presetFacts)], () =>
    name === ''
      ? listText(shown, lines, print)
      : [...shown.map((one) => modelText(one, print)), ...lines.map((one) => presetText(one, print))].join('\n'),
  );
  const told = [
    ...faults.map(({ file, path, problem, expected }) => `${file}: ${path}: ${problem}, expected ${expected}`),
    ...wrong.map((file) => `${file}: no preset, expected ${A_PRESET}`),
  ];
  for (const line of told) edge.stderr.write(`turnstone: ${printable(line)}\n`);
  if (told.length > 0) print.exitCode = EXIT.failure;
}

function modelFacts({ registers, file, ...model }: Model) {
  return { kind: 'modbus', ...model, isOwn: file.isOwn, file: file.path, keys: Object.keys(registers), registers };
}

function presetFacts({ name, title, source, fixture, file, units, sensor }: Preset) {
  return {
    kind: 'serial-line',
    name,
    title,
    source,
    fixture,
    isOwn: file.isOwn,
    file: file.path,
    keys: Object.keys(units),
    units,
    sensor,
  };
}

function listText(models: readonly Model[], presets: readonly Preset[], print: Printer): string {
  const row = (name: string, title: string, keys: object, known: string) => [
    name,
    printable(title),
    `${Object.keys(keys).length}`,
    known,
  ];
  const ofModels = models.map(({ name, maker, title, registers, verified, file }) =>
    row(name, `${maker} ${title}`, registers, file.isOwn ? 'your own' : verified),
  );
  const ofPresets = presets.map(({ name, title, units, fixture = '', file }) =>
    row(name, title, units, file.isOwn ? 'your own' : fixture),
  );
  const table = (head: string, known: string, rows: string[][]): string =>
    print.table([[head, 'DEVICE', 'KEYS', known], ...rows]);
  return `${table('MODEL', 'VERIFIED', ofModels)}\n${table('PRESET', 'FIXTURE', ofPresets)}`;
}

function modelText({ name, maker, title, verified, registers, sources, oneSource }: Model, print: Printer): string {
  const rows = Object.entries(registers).map(([key, register]) => {
    const { unit = '', table = 'holding', address, type = 'uint16' } = register;
    const isAlone = verified === 'two-sources' && oneSource.includes(key);
    return [key, unit, table, address, type, isAlone ? 'one source' : ''].map((cell) => printable(String(cell)));
  });
  const from = sources.map(
    ({ title: of, document, repository, path }) =>
      `  ${printable([of, document ?? repository, path].filter(Boolean).join(', '))}\n`,
  );
  return `${print.style.bold(name)}: ${printable(`${maker} ${title}`)}, ${verified}\n${from.join('')}${print.table([['KEY', 'UNIT', 'TABLE', 'ADDRESS', 'TYPE', ''], ...rows])}`;
}

function presetText({ name, title, source = '', fixture, units }: Preset, print: Printer): string {
  const rows = Object.entries(units).map(([key, unit]) => [key, unit ?? ''].map(printable));
  return `${print.style.bold(name)}: ${printable(title)}, serial-line, ${fixture ?? 'your own'}\n  ${printable(source)}\n${print.table([['KEY', 'UNIT'], ...rows])}`;
}

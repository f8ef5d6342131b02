/** The models of devices: a line for each, or all that is known of one. */
import { didYouMean } from '../config/fields/did-you-mean.ts';
import { allModels } from '../config/models/find-models.ts';
import type { Model } from '../config/models/model-file.ts';
import type { ModelsCall } from './commands/models.ts';
import { EXIT, usageError } from './exit-code.ts';
import { type Printer, printable } from './printer.ts';

export async function showModels({ args: { name }, flags: { config }, edge, print }: ModelsCall): Promise<void> {
  const { models, faults } = await allModels(config);
  const shown = name === '' ? models : models.filter((model) => model.name === name);
  const [one] = shown;
  if (one === undefined && name !== '') {
    const { hint = 'turnstone models lists them all' } = didYouMean(name, new Set(models.map((model) => model.name)));
    throw usageError(`there is no model ${name}`, { nextStep: hint });
  }
  print.result(shown.map(withKeys), () => (name === '' || one === undefined ? listText(shown, print) : modelText(one, print)));
  for (const { file, path, problem, expected } of faults)
    edge.stderr.write(`turnstone: ${printable(`${file}: ${path}: ${problem}, expected ${expected}`)}\n`);
  if (faults.length > 0) print.exitCode = EXIT.failure;
}

function withKeys({ registers, file, ...model }: Model) {
  return { ...model, isOwn: file.isOwn, file: file.path, keys: Object.keys(registers), registers };
}

function listText(models: readonly Model[], print: Printer): string {
  const rows = models.map(({ name, maker, title, registers, verified, file }) => [
    ...[name, printable(`${maker} ${title}`), `${Object.keys(registers).length}`, file.isOwn ? 'your own' : verified],
  ]);
  return print.table([['MODEL', 'DEVICE', 'KEYS', 'VERIFIED'], ...rows]);
}

function modelText({ name, maker, title, verified, registers, sources, oneSource }: Model, print: Printer): string {
  const rows = Object.entries(registers).map(([key, register]) => {
    const { unit = '', table = 'holding', address, type = 'uint16' } = register;
    const isAlone = verified === 'two-sources' && oneSource.includes(key);
    return [key, unit, table, address, type, isAlone ? 'one source' : ''].map((cell) => printable(String(cell)));
  });
  const from = sources.map(
    ({ title: of, document, repository, path }) => `  ${printable([of, document ?? repository, path].filter(Boolean).join(', '))}\n`,
  );
  return `${print.style.bold(name)}: ${printable(`${maker} ${title}`)}, ${verified}\n${from.join('')}${print.table([['KEY', 'UNIT', 'TABLE', 'ADDRESS', 'TYPE', ''], ...rows])}`;
}

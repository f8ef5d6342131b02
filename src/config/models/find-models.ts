/** Finds models by name. A model's name begins with the name of its file, so that no other file is read. */

import { type ModelFile, modelFiles } from '../../host/model-files.ts';
import { readUserFile } from '../../host/whole-file.ts';
import { type Model, modelsIn, registerFault } from './model-file.ts';

/** Fault of a file of models. */
export interface ModelFault {
  readonly file: string;
  readonly path: string;
  readonly problem: string;
  readonly expected: string;
  readonly hint?: string;
}

export interface FoundModel {
  readonly model?: Model;
  readonly fault?: ModelFault;
}

/** A family's file with hundreds of registers is a tenth of it. */
const MAX_FILE_BYTES = 256 * 1024;

export async function findModel(name: string, configFile: string): Promise<FoundModel> {
  const files = (await modelFiles(configFile)).filter((file) => name === file.name || name.startsWith(`${file.name}-`));
  // The longest name is the nearest; a person's own goes before.
  for (const file of files.toSorted((a, b) => Number(b.isOwn) - Number(a.isOwn) || b.name.length - a.name.length)) {
    const { models, fault } = await read(file);
    if (fault !== undefined) return { fault };
    const model = models.find((one) => one.name === name);
    if (model !== undefined) return checked(model);
  }
  return {};
}

/** Every model of every file, a person's own in place of one that is shipped under its name, and the faults of files. */
export async function allModels(
  configFile: string,
): Promise<{ readonly models: readonly Model[]; readonly faults: readonly ModelFault[] }> {
  const models = new Map<string, Model>();
  const faults: ModelFault[] = [];
  for (const file of await modelFiles(configFile)) {
    const found = await read(file);
    for (const one of found.models.map(checked)) {
      if (one.model !== undefined && !models.has(one.model.name)) models.set(one.model.name, one.model);
      if (one.fault !== undefined) faults.push(one.fault);
    }
    if (found.fault !== undefined) faults.push(found.fault);
  }
  return { models: [...models.values()].sort((a, b) => a.name.localeCompare(b.name)), faults };
}

async function read(file: ModelFile): Promise<{ readonly models: readonly Model[]; readonly fault?: ModelFault }> {
  try {
    const { models, fault } = modelsIn((await readUserFile(file.path, MAX_FILE_BYTES)) ?? new Uint8Array(), file);
    const stray = models.find(({ name }) => name !== file.name && !name.startsWith(`${file.name}-`));
    if (stray !== undefined) return { models: [], fault: strayFault(stray) };
    return { models, ...(fault !== undefined && { fault: { file: file.path, ...fault } }) };
  } catch {
    return {
      models: [],
      fault: { file: file.path, path: '', problem: 'not readable', expected: 'a file of at most 256 kB' },
    };
  }
}

function strayFault({ name, file }: Model): ModelFault {
  return {
    file: file.path,
    path: `models.${name}`,
    problem: 'a name that does not begin as its file',
    expected: `${file.name}-…`,
  };
}

function checked(model: Model): FoundModel {
  const fault = registerFault(model);
  return fault === undefined
    ? { model }
    : { fault: { file: model.file.path, ...fault, path: `${model.name}: ${fault.path}` } };
}

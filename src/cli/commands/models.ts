/** `turnstone models`: the devices whose registers or serial lines are known. */

import { argument, type Call, CONFIG, command, toggle } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const OPTIONS = { config: CONFIG, json: toggle('print as JSON, with every key and source') };
const ARGUMENTS = { name: argument('one of them, with its keys and sources', { byDefault: '' }) };
export type ModelsCall = Call<typeof OPTIONS, typeof ARGUMENTS>;

export const MODELS = command('models', {
  says: SENTENCES.models,
  arguments: ARGUMENTS,
  options: OPTIONS,
  examples: ['models', 'models eastron-sdm630', 'models vedirect-mppt', 'models --json'],
  notes: `\
A model is verified by two sources when two independent tables, or one and the maker's document, say the same of its registers.
A preset has a fixture: bytes that a device sent, or the worked example of its document.
Your own stand in the folders models and presets beside the configuration, and come first.`,
  exitCodes: '0 listed, 1 a file of models is wrong, 2 there is no such model',
  run: async (call) => (await import('../models.ts')).showModels(call),
});

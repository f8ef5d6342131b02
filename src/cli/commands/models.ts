/** `turnstone models`: the devices whose registers are known. */
import { argument, type Call, CONFIG, command, toggle } from '../command.ts';

const OPTIONS = { config: CONFIG, json: toggle('print as JSON, with every key and source') };
const ARGUMENTS = { name: argument('one of them, with its keys and sources', { byDefault: '' }) };
export type ModelsCall = Call<typeof OPTIONS, typeof ARGUMENTS>;

export const MODELS = command('models', {
  says: 'list meters and other devices whose registers are known: model: NAME in a modbus sensor reads them',
  arguments: ARGUMENTS,
  options: OPTIONS,
  examples: ['models', 'models eastron-sdm630', 'models --json'],
  notes: `\
A model is verified by two sources when two independent tables, or one and the maker's document, say the same of its registers.
Your own stand in the folder models beside the configuration, one YAML file for a family, and come first.`,
  exitCodes: '0 listed, 1 a file of models is wrong, 2 there is no such model',
  run: async (call) => (await import('../models.ts')).showModels(call),
});

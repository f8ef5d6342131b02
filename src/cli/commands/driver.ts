/** `turnstone driver …`: a program that is a driver, begun from a template and tried by the rules of the agent. */
import { argument, type Call, choice, command } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const LANGUAGES = ['shell', 'python', 'typescript'] as const;
export type DriverLanguage = (typeof LANGUAGES)[number];

const NEW_OPTIONS = { language: choice('<language>', 'its language', LANGUAGES, 'shell') };
const NEW_ARGUMENTS = { name: argument('name of the folder, and of the sensor') };
const TEST_ARGUMENTS = {
  folder: argument('folder with the program, its input and the lines expected', { byDefault: '.' }),
};
export type NewDriverCall = Call<typeof NEW_OPTIONS, typeof NEW_ARGUMENTS>;
export type TestDriverCall = Call<Record<never, never>, typeof TEST_ARGUMENTS>;

const SUBCOMMANDS = [
  command('new', {
    says: 'make a folder with a program, recorded input, the lines expected and the section to paste',
    arguments: NEW_ARGUMENTS,
    options: NEW_OPTIONS,
    run: async (call) => (await import('../driver-new.ts')).newDriver(call),
  }),
  command('test', {
    says: 'run the program with its recorded input as the agent would, and say what is wrong, line by line',
    arguments: TEST_ARGUMENTS,
    run: async (call) => (await import('../driver-test.ts')).testDriver(call),
  }),
];

export const DRIVER = command('driver', {
  says: SENTENCES.driver,
  agent: 'none',
  subcommands: SUBCOMMANDS,
  examples: ['driver new rain-gauge --language python', 'driver test rain-gauge'],
  exitCodes: '0 as expected, 1 something is wrong with what it prints, 2 the folder is not what it is to be',
});

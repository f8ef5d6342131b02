/** `turnstone settings`: a technician's own answers, kept as defaults of commands. */

import { AS_JSON, argument, type Call, command } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const KEY = { key: argument('one that turnstone settings list shows') };
const KEY_AND_VALUE = { ...KEY, value: argument('what it is from now on; never a secret') };
export type ListSettingsCall = Call<typeof AS_JSON>;
export type SetCall = Call<typeof AS_JSON, typeof KEY_AND_VALUE>;
export type ChangeCall = Call<typeof AS_JSON, typeof KEY>;

const SUBCOMMANDS = [
  command('list', {
    says: 'every setting, its value, and the file they are kept in',
    options: AS_JSON,
    examples: ['settings list', 'settings list --json'],
    run: async (call) => (await import('../settings.ts')).listSettings(call),
  }),
  command('set', {
    says: 'keep a value',
    arguments: KEY_AND_VALUE,
    options: AS_JSON,
    examples: [
      'settings set platform.url https://iot.example.org',
      "settings set provisioning.deviceName 'gateway-{serial|mac}'",
    ],
    exitCodes: '0 it is kept, 1 it could not be written, 2 there is no such key, or it may not have this value',
    run: async (call) => (await import('../settings.ts')).setSetting(call),
  }),
  command('unset', {
    says: 'forget a value',
    arguments: KEY,
    options: AS_JSON,
    examples: ['settings unset platform.url'],
    exitCodes: '0 it is not set, 1 it could not be written, 2 there is no such key',
    run: async (call) => (await import('../settings.ts')).unsetSetting(call),
  }),
];

export const SETTINGS = command('settings', {
  says: SENTENCES.settings,
  subcommands: SUBCOMMANDS,
  defaultSubcommand: 'list',
  examples: [
    'settings list',
    'settings set platform.url https://iot.example.org',
    'settings set colours never',
    'settings unset status.page',
  ],
  notes: `\
They are yours alone, in your own settings folder, and hold no secrets; the agent never reads them. What the command line says goes before
them, and so does what the configuration says of the analytics service.`,
});

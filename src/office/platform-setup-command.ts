/** Makes everything at the platform that a fleet of gateways needs. */

import { type Call, command, taking, toggle, valued, webAddress } from '../cli/command.ts';
import { SENTENCES } from '../cli/sentences.ts';

/** The platform refuses markup in names; a title with a tail has 255 characters at most. */
const name = (says: string) =>
  taking(says, (text) => (/^[^<>&"\p{Cc}]{1,200}$/u.test(text.trim()) ? text.trim() : undefined));
const aName = name('a name has 1 to 200 characters, and none of < > & "');

const PLATFORM_SETUP_OPTIONS = {
  url: valued('<address>', 'the platform (default: the setting platform.url)', { parse: webAddress }),
  user: valued('<name>', 'a tenant administrator', { isRequired: true }),
  passwordFile: valued('<file>', 'the password, from a file; otherwise it is asked for'),
  caFile: valued('<file>', 'PEM of a private authority to trust'),
  profile: valued('<name>', 'device profile of the gateways', { parse: aName, byDefault: 'Turnstone gateway' }),
  config: valued(
    '<file>',
    'configuration of a gateway: its sensors, units and alarms are taken into dashboards and rules',
  ),
  release: valued('<file>', 'a release (turnstone-….tar.zst) to upload as a package'),
  assign: toggle('assign that release to the profile: every gateway of it is updated'),
  customer: valued('<name>', 'a customer, whose users may claim gateways', { parse: aName }),
  write: valued('<file>', 'write the provisioning section to a file that only you can read'),
  dryRun: toggle('show the plan alone'),
  yes: toggle('carry the plan out without asking'),
  json: toggle('print the result as JSON'),
};
export type PlatformSetupCall = Call<typeof PLATFORM_SETUP_OPTIONS>;

export const PLATFORM_SETUP = command('platform-setup', {
  says: SENTENCES['platform-setup'],
  options: PLATFORM_SETUP_OPTIONS,
  takesSettings: true,
  examples: [
    'platform-setup --url https://iot.example.org --user admin@example.org',
    'platform-setup --url https://iot.example.org --user admin@example.org --config turnstone.yaml --dry-run',
    'platform-setup --url https://iot.example.org --user admin@example.org --release turnstone-1.2.0-arm64.tar.zst --assign',
  ],
  notes: `\
It may be run again: what is as it should be stays, what a person has changed stays too. Run it once more when gateways send
readings, so that the dashboards take up their keys.`,
  run: async (call) => (await import('./platform-setup.ts')).setUpPlatform(call),
});

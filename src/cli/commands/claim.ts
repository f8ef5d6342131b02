/** `turnstone claim`: lets a user of the platform take this device, by a secret shown as text and as a QR code. */
import { type Call, command, duration, negation, toggle, valued } from '../command.ts';

const OPTIONS = {
  secretKeyFile: valued('<file>', 'the secret, from a file'),
  ask: toggle('ask for the secret'),
  duration: valued('<duration>', 'how long the claim stands (default: what the platform is set to)', {
    parse: duration('write a duration such as 10m or 2h', 1_000),
  }),
  qr: negation('without the QR code'),
  json: toggle('print the claim as JSON'),
};
export type ClaimCall = Call<typeof OPTIONS>;

export const CLAIM = command('claim', {
  says: 'let a user of the platform claim this device',
  options: OPTIONS,
  examples: ['claim', 'claim --duration 10m', 'claim --secret-key-file /root/claim-secret --duration 1h', 'claim --ask'],
  notes: `\
Without a secret an unguessable one is made. Whoever enters device name and secret at the platform, or scans the code, owns the
device. The platform keeps the first claim until it expires; until then its secret is shown again.`,
  agent: async (configFile, edge) => (await import('../identity-files.ts')).openIdentityFiles(configFile, edge),
  run: async (call) => (await import('../identity.ts')).claim(call),
});

/** Commands for the identity: showing it, moving it to another board, replacing its secrets without a gap, and letting a user of the platform take it. */

import {
  AS_JSON,
  argument,
  type Call,
  command,
  duration,
  negation,
  PASSPHRASE_FILE,
  toggle,
  valued,
} from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const FILE = { file: argument('') };
const EXPORT_OPTIONS = { passphraseFile: PASSPHRASE_FILE };
const IMPORT_OPTIONS = {
  passphraseFile: PASSPHRASE_FILE,
  replace: toggle("give up this board's own identity"),
};
const FORGET_OPTIONS = {
  yes: toggle('without asking'),
  devices: toggle('also those of all attached devices: for another platform or tenant'),
};
export const TOKEN_OPTIONS = {
  tokenFile: valued('<file>', 'the next token, from a file'),
  make: toggle('make an unguessable one and print it'),
};
const SECRET_OPTIONS = {
  keyFile: valued('<file>', 'the new key, from a file'),
  secretFile: valued('<file>', 'the new secret, from a file'),
};
export type ExportCall = Call<typeof EXPORT_OPTIONS, typeof FILE>;
export type ImportCall = Call<typeof IMPORT_OPTIONS, typeof FILE>;
export type ForgetCall = Call<typeof FORGET_OPTIONS>;
export type TokenCall = Call<typeof TOKEN_OPTIONS>;
export type SecretCall = Call<typeof SECRET_OPTIONS>;

const SUBCOMMANDS = [
  command('show', {
    says: 'what this board and its credentials are; no secret',
    options: AS_JSON,
    run: async (call) => (await import('../identity.ts')).showIdentity(call),
  }),
  command('export', {
    says: 'write the identity to a file, under a passphrase',
    arguments: FILE,
    options: EXPORT_OPTIONS,
    run: async (call) => (await import('../identity.ts')).exportIdentity(call),
  }),
  command('import', {
    says: "take another board's place",
    arguments: FILE,
    options: IMPORT_OPTIONS,
    run: async (call) => (await import('../identity.ts')).importIdentity(call),
  }),
  command('adopt', {
    says: 'this board keeps the credentials that came with its card',
    run: async (call) => (await import('../identity.ts')).adoptIdentity(call),
  }),
  command('forget', {
    says: 'give up the identity; the next start provisions anew',
    options: FORGET_OPTIONS,
    run: async (call) => (await import('../identity.ts')).forgetIdentity(call),
  }),
  command('rotate-token', {
    says: 'announce the next access token; either works until the platform has changed over',
    options: TOKEN_OPTIONS,
    run: async (call) => (await import('../identity.ts')).rotateToken(call),
  }),
  command('rotate-provisioning-secret', {
    says: 'replace the provisioning key and secret of the configuration',
    options: SECRET_OPTIONS,
    run: async (call) => (await import('../identity.ts')).rotateProvisioningSecret(call),
  }),
];

export const IDENTITY = command('identity', {
  says: SENTENCES.identity,
  agent: async (configFile, edge) => (await import('../identity-files.ts')).openIdentityFiles(configFile, edge),
  subcommands: SUBCOMMANDS,
  examples: [
    'identity show',
    'identity export gateway-7.identity       on the old board, kept in a safe place',
    "identity import gateway-7.identity       on the new board: it takes the old one's place",
    'identity adopt                           the card was moved to this board for good',
    'identity forget --yes                    provision anew at the next start',
    'identity forget --devices                the same for all attached devices: another platform or tenant',
    'identity rotate-token --make             prints a new token; then enter it at the platform',
  ],
  notes: 'Passphrases and tokens are asked for, or come from files; never from the command line.',
});

export const CLAIM_OPTIONS = {
  secretKeyFile: valued('<file>', 'the secret, from a file'),
  ask: toggle('ask for the secret'),
  duration: valued('<duration>', 'how long the claim stands (default: what the platform is set to)', {
    parse: duration('write a duration such as 10m or 2h', 1_000),
  }),
  qr: negation('without the QR code'),
  ...AS_JSON,
};
export type ClaimCall = Call<typeof CLAIM_OPTIONS>;

export const CLAIM = command('claim', {
  says: SENTENCES.claim,
  options: CLAIM_OPTIONS,
  examples: [
    'claim',
    'claim --duration 10m',
    'claim --secret-key-file /root/claim-secret --duration 1h',
    'claim --ask',
  ],
  notes: `\
Without a secret an unguessable one is made. Whoever enters device name and secret at the platform, or scans the code, owns the
device. The platform keeps the first claim until it expires; until then its secret is shown again.`,
  agent: async (configFile, edge) => (await import('../identity-files.ts')).openIdentityFiles(configFile, edge),
  run: async (call) => (await import('../identity.ts')).claim(call),
});

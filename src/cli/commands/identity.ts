/** `turnstone identity …`: who this device is, moving it to another board, and replacing its secrets without a gap. */
import { argument, type Call, command, toggle, valued } from '../command.ts';

const FILE = { file: argument('') };
const SHOW_OPTIONS = { json: toggle('print it as JSON') };
const EXPORT_OPTIONS = { passphraseFile: valued('<file>', 'the passphrase, from a file') };
const IMPORT_OPTIONS = { ...EXPORT_OPTIONS, replace: toggle("give up this board's own identity") };
const FORGET_OPTIONS = { yes: toggle('without asking') };
const TOKEN_OPTIONS = { tokenFile: valued('<file>', 'the next token, from a file'), make: toggle('make an unguessable one and print it') };
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
    options: SHOW_OPTIONS,
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
  says: 'show, move and renew the identity of this device',
  agent: async (configFile, edge) => (await import('../identity-files.ts')).openIdentityFiles(configFile, edge),
  subcommands: SUBCOMMANDS,
  examples: [
    'identity show',
    'identity export gateway-7.identity       on the old board, kept in a safe place',
    "identity import gateway-7.identity       on the new board: it takes the old one's place",
    'identity adopt                           the card was moved to this board for good',
    'identity forget --yes                    provision anew at the next start',
    'identity rotate-token --make             prints a new token; then enter it at the platform',
  ],
  notes: 'Passphrases and tokens are asked for, or come from files; never from the command line.',
});

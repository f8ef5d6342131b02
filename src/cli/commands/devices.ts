/** Commands for attached devices: which there are and how each does, and what is done for one of them. */

import { AS_JSON, argument, type Call, command, PASSPHRASE_FILE, taking, toggle, valued } from '../command.ts';
import { SENTENCES } from '../sentences.ts';
import { CLAIM_OPTIONS, TOKEN_OPTIONS } from './identity.ts';

const DEVICE = {
  name: argument('its name, its slot in the configuration, or a beginning of one of them', { byDefault: '' }),
};
const REMOVE_OPTIONS = { yes: toggle('without asking') };
const MOVE_ARGUMENTS = { name: argument('of the device that goes, as for show', { byDefault: '' }) };
const slot = taking('a slot has 1 to 64 letters, digits, - and _', (text) => /^[A-Za-z0-9_-]{1,64}$/.exec(text)?.[0]);
const MOVE_OPTIONS = {
  to: valued('<file>', 'here it goes: write its identity to the file, and stop sending as it'),
  from: valued('<file>', 'here it comes: read its identity from the file'),
  slot: valued('<name>', 'the slot that it comes into', { parse: slot }),
  passphraseFile: PASSPHRASE_FILE,
  replace: toggle('give up the device that is in the slot'),
};
const RENAME_ARGUMENTS = { ...DEVICE, newName: argument('its new name on the platform', { byDefault: '' }) };

export type ListCall = Call<typeof AS_JSON>;
export type ShowCall = Call<typeof AS_JSON, typeof DEVICE>;
export type ClaimCall = Call<typeof CLAIM_OPTIONS, typeof DEVICE>;
export type RotateCall = Call<typeof TOKEN_OPTIONS, typeof DEVICE>;
export type RemoveCall = Call<typeof REMOVE_OPTIONS, typeof DEVICE>;
export type MoveCall = Call<typeof MOVE_OPTIONS, typeof MOVE_ARGUMENTS>;
export type RenameCall = Call<Record<never, never>, typeof RENAME_ARGUMENTS>;

const SUBCOMMANDS = [
  command('list', {
    says: 'list them with how each does, those that need a person first',
    options: AS_JSON,
    exitCodes: '0 none is blocked, 1 one is',
    run: async (call) => (await import('../devices.ts')).listDevices(call),
  }),
  command('show', {
    says: 'show one',
    arguments: DEVICE,
    options: AS_JSON,
    run: async (call) => (await import('../devices.ts')).showDevice(call),
  }),
  command('claim', {
    says: 'let a user of the platform claim one',
    arguments: DEVICE,
    options: CLAIM_OPTIONS,
    run: async (call) => (await import('../devices.ts')).claimDevice(call),
  }),
  command('rotate', {
    says: 'announce the next access token of one; a blocked one is tried with it at once',
    arguments: DEVICE,
    options: TOKEN_OPTIONS,
    run: async (call) => (await import('../devices.ts')).rotateDevice(call),
  }),
  command('remove', {
    says: 'forget the credentials of one, and what it still holds',
    arguments: DEVICE,
    options: REMOVE_OPTIONS,
    run: async (call) => (await import('../devices.ts')).removeDevice(call),
  }),
  command('move', {
    says: 'move one to another gateway (--to), or take one from there (--from)',
    arguments: MOVE_ARGUMENTS,
    options: MOVE_OPTIONS,
    run: async (call) => (await import('../move-device.ts')).moveDevice(call),
  }),
  command('rename', {
    says: 'tell the agent that one has another name on the platform now',
    arguments: RENAME_ARGUMENTS,
    run: async (call) => (await import('../devices.ts')).renameDevice(call),
  }),
];

export const DEVICES = command('devices', {
  says: SENTENCES.devices,
  agent: 'needed',
  subcommands: SUBCOMMANDS,
  defaultSubcommand: 'list',
  examples: [
    'devices',
    'devices show meter1',
    'devices claim meter1 --duration 10m      with a QR code for the person who takes it',
    'devices rotate meter1 --token-file next  the platform has another token for it',
    'devices remove meter1                    it was deleted on the platform, or is gone for good',
    'devices move meter1 --to meter1.id       it goes to another gateway; then take it out of the configuration',
    'devices move --from meter1.id --slot m7  and there, before m7 stands in the configuration',
    "devices rename meter1 'Heat pump'        it was renamed on the platform",
  ],
  notes:
    'Attached devices stand under devices: in the configuration; the gateway itself has turnstone identity and turnstone claim.',
});

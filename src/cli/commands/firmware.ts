/** `turnstone firmware …`: what runs, what is offered, how an update goes on; and the self-test by which the root helper tries a release. */

import { AS_JSON, argument, type Call, command, negation, valued } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const WAITING_OPTIONS = { ...AS_JSON, wait: negation('do not wait for the end of the update') };
const FILE = { file: argument('turnstone-<version>-linux-<arch>.tar.zst') };
const ROLLBACK_OPTIONS = {
  ...AS_JSON,
  to: valued('<version>', 'which one (default: the one that ran before)'),
  wait: WAITING_OPTIONS.wait,
};
const SELF_TEST_OPTIONS = {
  config: valued('<file>', 'configuration; without it only what the release needs to run is looked at'),
};
export type WaitingCall = Call<typeof WAITING_OPTIONS>;
export type InstallCall = Call<typeof WAITING_OPTIONS, typeof FILE>;
export type RollbackCall = Call<typeof ROLLBACK_OPTIONS>;
export type SelfTestCall = Call<typeof SELF_TEST_OPTIONS>;

const SUBCOMMANDS = [
  command('status', {
    says: 'what runs, what is offered, and where an update stands',
    options: AS_JSON,
    run: async (call) => (await import('../firmware.ts')).showFirmware(call),
  }),
  command('history', {
    says: 'the updates so far, the latest first',
    options: AS_JSON,
    run: async (call) => (await import('../firmware.ts')).showHistory(call),
  }),
  command('check', {
    says: 'ask the platform for an offer now; one that failed is tried again',
    options: WAITING_OPTIONS,
    run: async (call) => (await import('../firmware.ts')).checkForOffer(call),
  }),
  command('install', {
    says: 'install a release bundle that lies here',
    arguments: FILE,
    options: WAITING_OPTIONS,
    run: async (call) => (await import('../firmware.ts')).installBundle(call),
  }),
  command('rollback', {
    says: 'go back to the release before, or to a kept one',
    options: ROLLBACK_OPTIONS,
    run: async (call) => (await import('../firmware.ts')).rollBack(call),
  }),
  command('self-test', {
    says: 'whether this release loads, its native modules too, and accepts a configuration',
    isHidden: true,
    agent: 'none',
    options: SELF_TEST_OPTIONS,
    run: async (call) => (await import('../firmware-self-test.ts')).testSelf(call),
  }),
];

export const FIRMWARE = command('firmware', {
  says: SENTENCES.firmware,
  agent: 'needed',
  subcommands: SUBCOMMANDS,
  examples: [
    'firmware status',
    'firmware check                    ask the platform now, and try an offer again that failed',
    'sudo turnstone firmware install turnstone-1.3.0-linux-arm64.tar.zst',
    'firmware rollback',
    'firmware history --json',
  ],
  exitCodes: '0 done, 1 the update failed, 69 no agent runs, 77 no permission (join group turnstone)',
});

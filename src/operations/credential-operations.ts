/**
 * Operations that replace secrets without a visit, or at the device. Each makes the new secret durable beside the old one and only then answers; the
 * operator changes the platform over after the answer, at any time, and the device follows by itself. Nothing secret is in an answer.
 */

import type { CredentialsStore } from '../devices/credentials-store.ts';
import type { DeviceToken } from '../devices/device-token.ts';
import { type OperationsOn, objectOf, textOf } from './operation.ts';

export interface ReplaceableSecrets {
  /** @throws AgentError while there is none. */
  readonly token: Pick<DeviceToken, 'offerNext'>;
  readonly store: Pick<CredentialsStore, 'read' | 'saveProvisionSecret'>;
}

const SET = { effect: 'set', moves: false, deadlineMs: 10_000, askers: ['platform', 'site'] } as const;
const SECRET = { type: 'string', minLength: 1, maxLength: 255 } as const;

export const CREDENTIAL_OPERATIONS: OperationsOn<ReplaceableSecrets> = {
  setNextAccessToken: (secrets) => ({
    ...SET,
    description:
      'Announces the access token that this device is about to be given; answers when both tokens are accepted.',
    // No pattern: a mismatch would quote the token.
    params: objectOf({ accessToken: SECRET }),
    run: async (params) => {
      // Credentials that cannot be read now must not pass for none.
      await secrets.store.read();
      await secrets.token.offerNext(textOf(params, 'accessToken'));
      return { ready: true };
    },
  }),
  setProvisioningSecret: ({ store }) => ({
    ...SET,
    description: 'Replaces the provisioning key and secret of the configuration, which stays as the second choice.',
    params: objectOf({ deviceKey: SECRET, deviceSecret: SECRET }),
    run: async (params) => {
      await store.read();
      const [deviceKey, deviceSecret] = [textOf(params, 'deviceKey'), textOf(params, 'deviceSecret')];
      await store.saveProvisionSecret({ deviceKey, deviceSecret });
      return { ready: true };
    },
  }),
};

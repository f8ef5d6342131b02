/**
 * RPC methods that replace secrets without a visit. Each makes the new secret durable beside the old one and only then answers; the
 * operator changes the platform over after the answer, at any time, and the device follows by itself. Nothing secret is in an answer.
 */
import type { RpcMethod } from '../rpc/rpc-method.ts';
import type { CredentialsStore } from './credentials-store.ts';
import type { DeviceToken } from './device-token.ts';

export interface CredentialMethodsDeps {
  readonly token: () => Pick<DeviceToken, 'offerNext'>;
  readonly store: CredentialsStore;
}

const DEADLINE_MS = 10_000;

export function credentialMethods({ token, store }: CredentialMethodsDeps): readonly RpcMethod[] {
  return [
    {
      name: 'setNextAccessToken',
      description: 'Announces the access token that this device is about to be given; answers when either token will do.',
      params: {
        type: 'object',
        required: ['accessToken'],
        // No pattern: a misfit would quote the token.
        properties: { accessToken: { type: 'string', minLength: 8, maxLength: 255 } },
        additionalProperties: false,
      },
      effect: 'set',
      moves: false,
      deadlineMs: DEADLINE_MS,
      run: async (params) => {
        await token().offerNext(textOf(params, 'accessToken'));
        return { ready: true };
      },
    },
    {
      name: 'setProvisioningSecret',
      description: 'Replaces the provisioning key and secret of the configuration, which stays as the second choice.',
      params: {
        type: 'object',
        required: ['deviceKey', 'deviceSecret'],
        properties: {
          deviceKey: { type: 'string', minLength: 1, maxLength: 255 },
          deviceSecret: { type: 'string', minLength: 1, maxLength: 255 },
        },
        additionalProperties: false,
      },
      effect: 'set',
      moves: false,
      deadlineMs: DEADLINE_MS,
      run: async (params) => {
        await store.saveProvisionSecret({ deviceKey: textOf(params, 'deviceKey'), deviceSecret: textOf(params, 'deviceSecret') });
        return { ready: true };
      },
    },
  ];
}

/** The method table has checked the shape. */
function textOf(params: unknown, name: string): string {
  return String((params as Record<string, unknown>)[name]);
}

/**
 * Requests of people about this device's identity, by command or through the running agent: claim it, look at it, move it, rotate its secrets.
 * One place for both, so that a command does the same with and without an agent.
 */

import { AgentError, refusal } from '../errors/agent-error.ts';
import { isOtherBoard } from '../host/identity.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import { fingerprintOf } from './access-token.ts';
import { forgetDevices } from './attached/forget-devices.ts';
import { type ClaimDeps, type ClaimRequest, claimDevice } from './claim-device.ts';
import { type CredentialsPlace, MAX_SECRET_LENGTH } from './credentials-record.ts';
import { adoptIdentity, type MoveDeps, packIdentity, unpackIdentity } from './move-identity.ts';

export interface IdentityRequestsDeps extends MoveDeps, Omit<ClaimDeps, 'deviceApi' | 'deviceName'> {
  /** Undefined while there are no credentials. */
  readonly deviceApi: () => ClaimDeps['deviceApi'] | undefined;
  /** Puts the next token beside the present one. */
  readonly offerNext: (accessToken: string) => Promise<void>;
  /** Makes a changed identity take effect: the running agent restarts; a command without an agent does nothing. */
  readonly takeUp: () => void;
}

/** A request by name, its parameters and answer as JSON: the same over the control socket and in the command itself. */
export type IdentityRequests = Readonly<
  Record<string, (params: JsonObject, signal: AbortSignal) => Promise<JsonValue>>
>;

export function identityRequests(deps: IdentityRequestsDeps): IdentityRequests {
  const requests = Object.entries(requestsOf(deps)).map(([name, answer]): [string, IdentityRequests[string]] => [
    name,
    async (params, signal) => {
      // Credentials that cannot be read now must not pass for none.
      await deps.store.read();
      return answer(params, signal);
    },
  ]);
  return Object.fromEntries(requests);
}

function requestsOf(deps: IdentityRequestsDeps): IdentityRequests {
  const { store, place, board, clock, randomBytes, takeUp } = deps;
  const moves = { store, board, place };
  return {
    showIdentity: async () => show(deps),
    claim: async (params, signal) => {
      const deviceApi = deps.deviceApi();
      if (deviceApi === undefined)
        throw new AgentError(
          'provisioning/no-credentials',
          'this device has no credentials yet, so nobody can claim it',
          {
            recovery: 'hold',
          },
        );
      const deviceName = store.record(place)?.deviceName;
      return {
        ...(await claimDevice(
          {
            ...deps,
            deviceApi,
            deviceName,
          },
          claimRequest(params),
          signal,
        )),
      };
    },
    exportIdentity: async (params) => ({
      text: await packIdentity({ store, place, randomBytes }, textIn(params, 'passphrase'), clock.wallMs()),
    }),
    importIdentity: async (params) => {
      refuseWhereConfigured(place);
      const text = textIn(params, 'text');
      const passphrase = textIn(params, 'passphrase');
      const moved = await unpackIdentity(moves, { text, passphrase, replace: params.replace === true });
      takeUp();
      return { ...moved };
    },
    adoptIdentity: async () => {
      await adoptIdentity(moves);
      takeUp();
      return {};
    },
    forgetIdentity: async (params) => {
      const withDevices = params.devices === true;
      // A gateway whose token is in the configuration has none to forget, and its devices may have theirs.
      if (!withDevices) refuseWhereConfigured(place);
      const devices = withDevices ? await forgetDevices(deps) : undefined;
      // The queue on a copied card is delivered by the board that it was copied from.
      if (place === 'own')
        await store.forget({ setsQueueAside: isOtherBoard(store.record(place)?.board ?? {}, board) });
      takeUp();
      return devices === undefined ? {} : { devices };
    },
    setNextAccessToken: async (params) => {
      await deps.offerNext(textIn(params, 'accessToken'));
      return {};
    },
    setProvisioningSecret: async (params) => {
      await store.saveProvisionSecret({
        deviceKey: secretIn(params, 'deviceKey'),
        deviceSecret: secretIn(params, 'deviceSecret'),
      });
      return {};
    },
  };
}

/** Otherwise the request would seem to succeed and change nothing. */
function refuseWhereConfigured(place: CredentialsPlace): void {
  if (place === 'own') return;
  throw refusal(
    'provisioning/token-configured',
    'the access token stands in the configuration (platform.accessToken), which goes before any other identity: take it out there, restart ' +
      'the agent, and ask again',
  );
}

/** Everything that is no secret. */
function show({ store, place, board }: IdentityRequestsDeps): JsonObject {
  const record = store.record(place);
  const credentials: JsonObject =
    record === undefined
      ? { phase: 'none' }
      : {
          phase: record.phase,
          source: record.source,
          tokenFingerprint: fingerprintOf(record.accessToken),
          generation: record.generation,
          board: { ...record.board },
          rotationUnderWay: record.nextToken !== undefined,
          replaced: record.replacedBy !== undefined,
          deviceName: record.deviceName,
        };
  return { board: { ...board }, credentials, provisioningSecretRotated: store.provisionSecret !== undefined };
}

function claimRequest({ secretKey, durationMs }: JsonObject): ClaimRequest {
  return {
    ...(typeof secretKey === 'string' ? { secretKey } : {}),
    ...(typeof durationMs === 'number' ? { durationMs } : {}),
  };
}

function textIn(params: JsonObject, name: string): string {
  const value = params[name];
  if (typeof value === 'string' && value !== '') return value;
  throw refusal('provisioning/bad-request', `${name} is needed, as text`);
}

/** Bounded: the file that was named may be the wrong one and hold anything. */
function secretIn(params: JsonObject, name: string): string {
  const secret = textIn(params, name);
  if (secret.length <= MAX_SECRET_LENGTH) return secret;
  throw refusal(
    'provisioning/bad-request',
    `${name} has ${secret.length} characters, at most ${MAX_SECRET_LENGTH} are taken`,
  );
}

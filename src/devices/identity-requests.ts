/**
 * Requests of people about this device's identity, by command or through the running agent: claim it, look at it, move it.
 * One place for both, so that a command does the same with and without an agent.
 */

import { refusal } from '../errors/agent-error.ts';
import { isOtherBoard } from '../host/identity.ts';
import type { HostMachine } from '../host/machine.ts';
import type { IdentityControl } from '../operations/identity-operations.ts';
import type { JsonObject } from '../values/json.ts';
import { fingerprintOf } from './access-token.ts';
import type { CredentialsPlace } from './credentials-record.ts';
import { type ForgetDevicesDeps, forgetDevices } from './forget-devices.ts';
import { adoptIdentity, type MoveDeps, packIdentity, unpackIdentity } from './move-identity.ts';

export interface IdentityRequestsDeps extends MoveDeps, ForgetDevicesDeps, Pick<HostMachine, 'randomBytes'> {
  /** Opens a claim on it, whose credentials have been read. */
  readonly claim: IdentityControl['claim'];
  /** Makes a changed identity take effect: the running agent restarts; a command without an agent does nothing. */
  readonly takeUp: () => void;
}

export function identityControl(deps: IdentityRequestsDeps): IdentityControl {
  const { store, place, board, clock, randomBytes, takeUp } = deps;
  const moves = { store, board, place };
  return {
    show: async () => {
      await store.read();
      return show(deps);
    },
    claim: async (request, signal) => {
      await store.read();
      return await deps.claim(request, signal);
    },
    pack: async (passphrase) => {
      await store.read();
      return await packIdentity({ store, place, randomBytes }, passphrase, clock.wallMs());
    },
    unpack: async (packed) => {
      await store.read();
      refuseWhereConfigured(place);
      const moved = await unpackIdentity(moves, packed);
      takeUp();
      return moved;
    },
    adopt: async () => {
      await store.read();
      await adoptIdentity(moves);
      takeUp();
    },
    forget: async ({ withDevices }) => {
      await store.read();
      // A gateway whose token is in the configuration has none to forget, and its devices may have theirs.
      if (!withDevices) refuseWhereConfigured(place);
      const devices = withDevices ? await forgetDevices(deps) : undefined;
      // The queue on a copied card is delivered by the board that it was copied from.
      if (place === 'own')
        await store.forget({ setsQueueAside: isOtherBoard(store.record(place)?.board ?? {}, board) });
      takeUp();
      return devices;
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

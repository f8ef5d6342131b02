/** Operations on the gateway's own identity: whoever is at the device looks at it, has it claimed, and moves it. No answer shows a secret that is in use. */
import type { ClaimRequest, OpenClaim } from '../devices/claim-device.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import type { ValueShape } from '../values/value-shape.ts';
import type { Answers } from './answers.ts';
import { memberOf, type OperationsOn, objectOf, QUESTION, SITE_CHANGE, textOf } from './operation.ts';

/** @throws AgentError `host/read-failed` (retry) by each: credentials that cannot be read now do not pass for none. */
export interface IdentityControl {
  show(): Promise<JsonObject>;
  /** @throws AgentError `provisioning/no-credentials` (hold), and as `claimDevice`. */
  claim(request: ClaimRequest, signal: AbortSignal): Promise<OpenClaim>;
  /** Its identity under a passphrase, as a file's text. @throws AgentError as `packIdentity`. */
  pack(passphrase: string): Promise<string>;
  /** Makes this board the device of a file. @throws AgentError as `unpackIdentity`. */
  unpack(packed: PackedIdentity): Promise<Answers['importIdentity']>;
  /** Makes this board the home of credentials that came with a card. @throws AgentError as `adoptIdentity`. */
  adopt(): Promise<void>;
  /** Resolves to the number of attached devices whose credentials went, too; undefined where they were not asked for. */
  forget(options: { readonly withDevices: boolean }): Promise<number | undefined>;
}

export interface PackedIdentity {
  readonly text: string;
  readonly passphrase: string;
  /** Goes over an identity that this board has. */
  readonly replace: boolean;
}

const FILLED: ValueShape = { type: 'string', minLength: 1 };
const CHOICE: ValueShape = { type: 'boolean' };

/** Members of a request to claim; both may be left out. */
export const CLAIM_REQUEST: NonNullable<ValueShape['properties']> = {
  secretKey: { type: 'string', minLength: 1, maxLength: 255, description: 'made here when it is not given' },
  durationMs: { type: 'number', minimum: 1, description: 'left to the platform when it is not given' },
};

export const IDENTITY_OPERATIONS: OperationsOn<IdentityControl> = {
  showIdentity: (identity) => ({
    ...QUESTION,
    description: 'Who this device is to the platform, without its secrets.',
    askers: ['site'],
    run: () => identity.show(),
  }),
  claim: (identity) => ({
    ...SITE_CHANGE,
    description: 'Lets a user of the platform claim this device.',
    params: objectOf(CLAIM_REQUEST, []),
    run: (params, { signal }) => identity.claim(claimRequestOf(params), signal),
  }),
  exportIdentity: (identity) => ({
    ...SITE_CHANGE,
    description: 'Packs the identity under a passphrase, for another board.',
    params: objectOf({ passphrase: FILLED }),
    run: async (params) => ({ text: await identity.pack(textOf(params, 'passphrase')) }),
  }),
  importIdentity: (identity) => ({
    ...SITE_CHANGE,
    description: 'Makes this board the device that another board packed.',
    params: objectOf({ text: FILLED, passphrase: FILLED, replace: CHOICE }, ['text', 'passphrase']),
    run: (params) =>
      identity.unpack({
        text: textOf(params, 'text'),
        passphrase: textOf(params, 'passphrase'),
        replace: memberOf(params, 'replace') === true,
      }),
  }),
  adoptIdentity: (identity) => ({
    ...SITE_CHANGE,
    description: 'Makes this board the home of the credentials on its card.',
    run: async () => {
      await identity.adopt();
      return {};
    },
  }),
  forgetIdentity: (identity) => ({
    ...SITE_CHANGE,
    description: 'Gives this identity up, and with `devices` those of all attached devices.',
    params: objectOf({ devices: CHOICE }, []),
    run: async (params) => ({ devices: await identity.forget({ withDevices: memberOf(params, 'devices') === true }) }),
  }),
};

/** Params of the shape `CLAIM_REQUEST`. */
export function claimRequestOf(params: JsonValue): ClaimRequest {
  const [secretKey, durationMs] = [memberOf(params, 'secretKey'), memberOf(params, 'durationMs')];
  return {
    secretKey: secretKey === null ? undefined : String(secretKey),
    durationMs: durationMs === null ? undefined : Number(durationMs),
  };
}

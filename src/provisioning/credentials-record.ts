/** What the credentials file holds, and how it is read: two places, so that a token of the configuration never displaces one that was provisioned. */
import { AgentError } from '../errors.ts';
import type { BoardIdentity } from '../host/identity.ts';
import { isJsonObject, type JsonObject, parseJson, stringifyJson } from '../host/json.ts';
import { misfitOf, type ValueShape } from '../host/value-shape.ts';

/** `configured`: belongs to the access token of the configuration file. `own`: provisioned or imported. */
export type CredentialsPlace = 'own' | 'configured';

export interface CredentialsRecord {
  /** `proposed`: synced before its first use; whether the platform took it is not known yet. */
  readonly phase: 'proposed' | 'in-use';
  readonly source: 'provisioned' | 'imported' | 'configuration';
  /** Absent where only the platform knows it. */
  readonly deviceName?: string;
  readonly accessToken: string;
  /** A rotation is under way: the platform may change over at any time. */
  readonly nextToken?: string;
  /** Earlier tokens that may still be right, newest first: until the present one has been used with success. */
  readonly previousTokens?: readonly string[];
  /** Fingerprint of the configured token that this record belongs to (place `configured`). */
  readonly configuredToken?: string;
  /** The board that keeps these credentials: on another one the card was copied or moved. */
  readonly board: Partial<BoardIdentity>;
  /** Goes up by one with each import on another board; the platform's device belongs to the highest. */
  readonly generation: number;
  /** The generation of another board that was found to be this device: this one stands back, at the next start too. */
  readonly replacedBy?: number;
}

/** Rotated provisioning credentials, which go before those of the configuration. */
export interface ProvisionSecret {
  readonly deviceKey: string;
  readonly deviceSecret: string;
}

export interface CredentialsState {
  readonly own?: CredentialsRecord;
  readonly configured?: CredentialsRecord;
  readonly provisionSecret?: ProvisionSecret;
}

const FORMAT = 'turnstone/credentials';
const VERSION = 1;

const TOKEN: ValueShape = { type: 'string', minLength: 1, maxLength: 255 };
const BOARD: ValueShape = {
  type: 'object',
  properties: { serial: { type: 'string' }, mac: { type: 'string' }, machineId: { type: 'string' }, hostname: { type: 'string' } },
};
const RECORD: ValueShape = {
  type: 'object',
  required: ['phase', 'source', 'accessToken', 'board', 'generation'],
  properties: {
    phase: { enum: ['proposed', 'in-use'] },
    source: { enum: ['provisioned', 'imported', 'configuration'] },
    deviceName: { type: 'string' },
    accessToken: TOKEN,
    nextToken: TOKEN,
    previousTokens: { type: 'array', items: TOKEN },
    configuredToken: { type: 'string' },
    board: BOARD,
    generation: { type: 'integer', minimum: 1 },
    replacedBy: { type: 'integer', minimum: 1 },
  },
};
const STATE: ValueShape = {
  type: 'object',
  properties: {
    own: RECORD,
    configured: RECORD,
    provisionSecret: { type: 'object', required: ['deviceKey', 'deviceSecret'], properties: { deviceKey: TOKEN, deviceSecret: TOKEN } },
  },
};

/** The text of the file. */
export function formatCredentials(state: CredentialsState): string {
  return `${stringifyJson({ format: FORMAT, version: VERSION, state: state as unknown as JsonObject })}\n`;
}

/**
 * Reads the text of the file. Fields of later releases of this version are kept, since credentials are never rolled back.
 * @throws AgentError `provisioning/newer-format` (stop), `provisioning/corrupt` (hold): neither tells any of the content.
 */
export function parseCredentials(text: string): CredentialsState {
  const json = parsed(text);
  if (!isJsonObject(json) || json.format !== FORMAT) throw corrupt('it is no credentials file');
  if (typeof json.version === 'number' && json.version > VERSION) {
    throw new AgentError('provisioning/newer-format', `the credentials were written by a later release (format version ${json.version})`, {
      recovery: 'stop',
    });
  }
  const { state } = json;
  // The misfit quotes the value, which may be a token.
  if (json.version !== VERSION || state === undefined || misfitOf(STATE, state, 'state') !== undefined) throw corrupt('a field is wrong');
  return state as unknown as CredentialsState;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // Not as cause: the parser quotes the text.
    throw corrupt('it is not whole');
  }
}

function corrupt(why: string): AgentError {
  return new AgentError('provisioning/corrupt', `the credentials file cannot be understood: ${why}`, { recovery: 'hold' });
}

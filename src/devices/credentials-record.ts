/** The content of the credentials file, and how it is read: two places, so that a token of the configuration never displaces one that was provisioned. */
import { AgentError, refusal } from '../errors/agent-error.ts';
import type { BoardIdentity } from '../host/identity.ts';
import { MAX_SMALL_FILE_BYTES } from '../host/whole-file.ts';
import { sealJson } from '../store/sealed-json.ts';
import { isJsonObject, parseJson } from '../values/json.ts';
import { mismatchOf, type ValueShape } from '../values/value-shape.ts';

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
  /** The generation of another board that has become this device: this board sends nothing, after a restart either. */
  readonly replacedBy?: number;
  /** A person made this board the device, by an import or by adopting the card, and the platform has not been told yet. */
  readonly takesOver?: boolean;
}

/** Rotated provisioning credentials, which go before those of the configuration. */
export interface ProvisionSecret {
  readonly deviceKey: string;
  readonly deviceSecret: string;
}

export interface CredentialsState {
  readonly own?: CredentialsRecord;
  readonly configured?: CredentialsRecord;
  /** Records of tokens that the configuration named before, newest first: one that is configured again, as after a slip, keeps its rotations. */
  readonly formerlyConfigured?: readonly CredentialsRecord[];
  readonly provisionSecret?: ProvisionSecret;
  /** The queue was measured as another device: it is set aside before anything is sent, and then this is removed. */
  readonly setsQueueAside?: boolean;
}

/** Each costs a question to the platform when the present one is refused. */
const MAX_EARLIER_TOKENS = 8;
const MAX_FORMERLY_CONFIGURED = 4;
const FORMAT = 'turnstone/credentials';
const VERSION = 1;

/** Characters of a token or a provisioning secret. */
const MAX_SECRET_LENGTH = 255;
const TOKEN: ValueShape = { type: 'string', minLength: 1, maxLength: MAX_SECRET_LENGTH };
const BOARD: ValueShape = {
  type: 'object',
  properties: {
    serial: { type: 'string' },
    mac: { type: 'string' },
    otherMacs: { type: 'array', items: { type: 'string' } },
    machineId: { type: 'string' },
    hostname: { type: 'string' },
  },
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
    takesOver: { type: 'boolean' },
  },
};
const STATE: ValueShape = {
  type: 'object',
  properties: {
    own: RECORD,
    configured: RECORD,
    formerlyConfigured: { type: 'array', items: RECORD },
    provisionSecret: {
      type: 'object',
      required: ['deviceKey', 'deviceSecret'],
      properties: { deviceKey: TOKEN, deviceSecret: TOKEN },
    },
    setsQueueAside: { type: 'boolean' },
  },
};

/** The field `previousTokens`: newest first, each once, without the present one, a bounded number. */
export function earlierTokens(
  present: string,
  tokens: readonly (string | undefined)[],
): Pick<CredentialsRecord, 'previousTokens'> {
  const others = new Set(tokens.filter((token) => token !== undefined && token !== present));
  const previousTokens = [...others].filter((token) => token !== undefined).slice(0, MAX_EARLIER_TOKENS);
  return previousTokens.length === 0 ? {} : { previousTokens };
}

/** Every token of a record: the present one, the one offered, then those that may still be right. */
export function tokensOf({ accessToken, nextToken, previousTokens = [] }: CredentialsRecord): readonly string[] {
  return [accessToken, nextToken, ...previousTokens].filter((token) => token !== undefined);
}

/** Every record of the state. */
export function recordsOf({
  own,
  configured,
  formerlyConfigured = [],
}: CredentialsState): readonly CredentialsRecord[] {
  return [own, configured, ...formerlyConfigured].filter((record) => record !== undefined);
}

/** Every token and secret of the state. */
export function secretsIn(state: CredentialsState): readonly string[] {
  return [...recordsOf(state).flatMap(tokensOf), ...Object.values(state.provisionSecret ?? {})];
}

/** The state with this record in it. A token that the configuration named before gets the record it had then, never another token's. */
export function withRecord(
  state: CredentialsState,
  place: CredentialsPlace,
  record: CredentialsRecord,
): CredentialsState {
  const { configured, formerlyConfigured = [] } = state;
  if (place === 'own' || configured === undefined || configured.configuredToken === record.configuredToken) {
    return { ...state, [place]: record };
  }
  const known = formerlyConfigured.find(({ configuredToken }) => configuredToken === record.configuredToken);
  const former = [configured, ...formerlyConfigured.filter((other) => other !== known)].slice(
    0,
    MAX_FORMERLY_CONFIGURED,
  );
  return { ...state, configured: known ?? record, formerlyConfigured: former };
}

/** The text of the file. What the next start could not read would cost the device its identity. @throws AgentError `provisioning/unreadable` (drop). */
export function formatCredentials(state: CredentialsState): string {
  const text = `${sealJson({ format: FORMAT, version: VERSION, state })}\n`;
  try {
    parseCredentials(text);
    if (Buffer.byteLength(text) <= MAX_SMALL_FILE_BYTES) return text;
  } catch {
    // Refused below, as if it were too long.
  }
  throw refusal('provisioning/unreadable', 'the credentials cannot be kept like this: they could not be read again');
}

/**
 * Reads the text of the file, whatever its check value: the caller has two of them. Fields of later releases of this version are kept, since credentials are never rolled back.
 * @throws AgentError `provisioning/newer-format` (stop), `provisioning/corrupt` (hold): neither tells any of the content.
 */
export function parseCredentials(text: string): CredentialsState {
  const json = parsed(text);
  if (!isJsonObject(json) || json.format !== FORMAT) throw corrupt('it is no credentials file');
  if (typeof json.version === 'number' && json.version > VERSION) {
    throw new AgentError(
      'provisioning/newer-format',
      `the credentials were written by a later release (format version ${json.version})`,
      {
        recovery: 'stop',
      },
    );
  }
  const { state } = json;
  if (json.version !== VERSION || !isState(state)) throw corrupt('a field is wrong');
  return state;
}

/** Does not say what is wrong: the mismatch quotes the value, which may be a token. */
function isState(state: unknown): state is CredentialsState {
  return isJsonObject(state) && mismatchOf(STATE, state, 'state') === undefined;
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
  return new AgentError('provisioning/corrupt', `the credentials file cannot be understood: ${why}`, {
    recovery: 'hold',
  });
}

/**
 * The identity of this device at the start: the configured access token if there is one (and what it was rotated to since), else the kept credentials,
 * else provisioning. Notices a card that was copied or moved: the same credentials on another board.
 */
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { AgentError } from '../errors/agent-error.ts';
import { type BoardIdentity, isOtherBoard, withNewMarks } from '../host/identity.ts';
import { fingerprintOf } from './access-token.ts';
import type { CredentialsPlace, CredentialsRecord, ProvisionSecret } from './credentials-record.ts';
import { deviceNameOf } from './device-name.ts';
import { DeviceToken } from './device-token.ts';
import { type ProvisioningDeps, provisionDevice } from './provision-device.ts';

export interface CredentialsSettings {
  /** `platform.accessToken`; it wins. */
  readonly accessToken?: string;
  /** `provisioning:` of the configuration. */
  readonly provisioning?: {
    readonly deviceName: string;
    readonly secret?: ProvisionSecret;
    readonly onUnauthorised: 'hold' | 'reprovision';
    /** The way with another board's credentials: `continue` and `hold` alert, `reprovision` makes a device of its own, see `leaveOtherBoard`. Default `continue`. */
    readonly onOtherBoard?: 'continue' | 'hold' | 'reprovision';
  };
}

export function credentialsSettings({ platform, provisioning }: AgentConfig): CredentialsSettings {
  const accessToken = { accessToken: platform.accessToken?.reveal() };
  if (provisioning === undefined) return accessToken;
  const { deviceName, deviceKey, deviceSecret, onUnauthorised, onOtherBoard } = provisioning;
  const secret = deviceKey && deviceSecret && { deviceKey: deviceKey.reveal(), deviceSecret: deviceSecret.reveal() };
  return { ...accessToken, provisioning: { deviceName, onUnauthorised, onOtherBoard, secret } };
}

export interface ObtainCredentialsDeps extends Omit<ProvisioningDeps, 'deviceName' | 'secrets'> {
  readonly settings: CredentialsSettings;
}

export interface DeviceCredentials {
  readonly token: DeviceToken;
  readonly place: CredentialsPlace;
  /** As the platform calls this device; unknown for a configured token. */
  readonly deviceName?: string;
  /** Why these credentials must not be used now, in words; the agent goes on measuring and storing. */
  readonly held?: string;
}

const OTHER_BOARD_ALERT = 'credentials-of-another-board';

/**
 * Resolves when this device may speak to the platform; a board without network waits here, while the rest of the agent measures.
 * @throws AgentError `provisioning/no-credentials` (stop), `provisioning/device-name` (stop), `provisioning/aborted` (retry).
 */
export async function obtainCredentials(deps: ObtainCredentialsDeps, signal: AbortSignal): Promise<DeviceCredentials> {
  const { settings, store } = deps;
  const { accessToken } = settings;
  if (accessToken !== undefined) return inUse(deps, 'configured', await configuredRecord(deps, accessToken));
  const own = store.record('own');
  if (own?.phase !== 'in-use') return inUse(deps, 'own', await provisionDevice(provisioningDeps(deps), signal));
  return inUse(deps, 'own', own);
}

/** Returns the credentials that are kept, of whatever configuration; undefined where there are none in use. */
export async function keptCredentials(deps: ObtainCredentialsDeps): Promise<DeviceCredentials | undefined> {
  // A token of the configuration came later, as a rule: it wins there, too.
  for (const place of ['configured', 'own'] as const) {
    const kept = deps.store.record(place);
    if (kept?.phase === 'in-use') return inUse(deps, place, kept);
  }
  return undefined;
}

/**
 * Before the outbox is opened: when this board is to be a device of its own, it forgets the other board's credentials, and that board's queue
 * is set aside, as it would be sent as the new device. Both in one write, so that this board's own readings are never set aside.
 * @throws AgentError `host/write-failed` (retry).
 */
export async function leaveOtherBoard(
  deps: Pick<ObtainCredentialsDeps, 'settings' | 'store' | 'board' | 'alerts'>,
): Promise<void> {
  const { settings, store, board } = deps;
  const own = store.record('own');
  if (
    settings.accessToken !== undefined ||
    own === undefined ||
    !isOtherBoard(own.board, board) ||
    secretsOf(deps).length === 0
  )
    return;
  // A token that another board had only proposed is never used here.
  if (own.phase === 'in-use' && settings.provisioning?.onOtherBoard !== 'reprovision') return;
  // The credentials are gone after this: nobody can adopt them then.
  const consequence =
    'it gives them up and provisions itself as a device of its own. If the card was moved for good and the platform has a device for it: ' +
    'turnstone identity import, or its access token as platform.accessToken';
  deps.alerts.raise(OTHER_BOARD_ALERT, inWords(own, board, consequence));
  await store.forget({ setsQueueAside: true });
}

/** The configured token, or what it was rotated to since; kept with the board, so that a copied card is noticed here too. */
export async function configuredRecord(
  deps: Pick<ObtainCredentialsDeps, 'store' | 'board' | 'hide'>,
  accessToken: string,
): Promise<CredentialsRecord> {
  const configuredToken = fingerprintOf(accessToken);
  deps.hide(accessToken);
  const kept = deps.store.record('configured');
  if (kept?.configuredToken === configuredToken) return kept;
  const { board } = deps;
  const record: CredentialsRecord = {
    phase: 'in-use',
    source: 'configuration',
    accessToken,
    configuredToken,
    board,
    generation: 1,
  };
  await deps.store.adopt('configured', () => record);
  return deps.store.record('configured') ?? record;
}

async function inUse(
  deps: ObtainCredentialsDeps,
  place: CredentialsPlace,
  found: CredentialsRecord,
): Promise<DeviceCredentials> {
  const { settings } = deps;
  const elsewhere = isOtherBoard(found.board, deps.board);
  const record = elsewhere ? found : await withFullBoard(deps, place, found);
  const policy = settings.provisioning?.onUnauthorised ?? 'hold';
  const mayReprovision = place === 'own' && policy === 'reprovision' && secretsOf(deps).length > 0;
  const token = new DeviceToken(
    {
      ...deps,
      place,
      ...(mayReprovision ? { reprovision: (signal) => provisionDevice(provisioningDeps(deps), signal) } : {}),
    },
    record,
  );
  const { deviceName } = record;
  if (!elsewhere) {
    deps.alerts.clear(OTHER_BOARD_ALERT);
    return { token, place, deviceName };
  }
  const holds = settings.provisioning?.onOtherBoard === 'hold';
  const consequence = holds ? 'nothing is sent' : 'two boards may be sending as one device';
  // A token of the configuration cannot be forgotten here.
  const { keepMoved, forgetCopy, replaceConfigured } = deps.words;
  const copy = record.source === 'configuration' ? replaceConfigured : forgetCopy;
  const ways = `If the card was moved for good: ${keepMoved}. If it is a copy: ${copy}`;
  const why = inWords(record, deps.board, `${consequence}. ${ways}`);
  deps.alerts.raise(OTHER_BOARD_ALERT, why);
  return { token, place, deviceName, held: holds ? why : undefined };
}

/** A serial number that could not be read at the first start is added when it can: it is the surest mark of the board. */
async function withFullBoard(
  deps: ObtainCredentialsDeps,
  place: CredentialsPlace,
  record: CredentialsRecord,
): Promise<CredentialsRecord> {
  if (withNewMarks(record.board, deps.board) === record.board) return record;
  const withMarks = (known: CredentialsRecord): CredentialsRecord => ({
    ...known,
    board: withNewMarks(known.board, deps.board),
  });
  await deps.store.adopt(place, (now) => (now === undefined ? undefined : withMarks(now)));
  return withMarks(record);
}

function inWords(record: CredentialsRecord, board: BoardIdentity, consequence: string): string {
  return `these credentials belong to the board ${markOf(record.board)}, this is ${markOf(board)}: the card was copied or moved, and ${consequence}`;
}

function markOf(board: Partial<BoardIdentity>): string {
  if (board.serial !== undefined) return `with serial ${board.serial}`;
  return board.mac === undefined ? 'without serial' : `with MAC ${board.mac}`;
}

/** Everything provisioning needs. @throws AgentError `provisioning/no-credentials` (stop), `provisioning/device-name` (stop). */
function provisioningDeps(deps: ObtainCredentialsDeps): ProvisioningDeps {
  const { provisioning } = deps.settings;
  const secrets = secretsOf(deps);
  if (provisioning === undefined || secrets.length === 0) {
    throw new AgentError(
      'provisioning/no-credentials',
      `this device has no access token and cannot get one: set ${deps.words.anyCredentials}`,
      { recovery: 'stop' },
    );
  }
  for (const { deviceKey, deviceSecret } of secrets) for (const secret of [deviceKey, deviceSecret]) deps.hide(secret);
  return { ...deps, secrets, deviceName: deviceNameOf(provisioning.deviceName, deps.board) };
}

/** The rotated secret first; the configured one after it, in case the platform has not changed over yet. */
function secretsOf({ store, settings }: Pick<ObtainCredentialsDeps, 'store' | 'settings'>): readonly ProvisionSecret[] {
  const rotated = store.provisionSecret;
  const configured = settings.provisioning?.secret;
  return [rotated, configured].filter((secret) => secret !== undefined);
}

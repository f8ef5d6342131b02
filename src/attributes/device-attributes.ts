/** Client and shared attributes as a whole: what the device says of itself, and what the platform wishes of it. */
import { join } from 'node:path';
import type { OwnActuators } from '../actuators/own-actuators.ts';
import type { LiveConfig } from '../config/live-config.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import type { FirmwareUpdates } from '../firmware/firmware-updates.ts';
import type { Alerts } from '../host/alert-list.ts';
import type { BoardIdentity } from '../host/identity.ts';
import type { JsonObject } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import { agentVersion } from '../host/version.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import type { PollBeat } from '../platform/poll-beat.ts';
import { pollLimits } from '../platform/poll-length.ts';
import { StateFile } from '../store/state-file.ts';
import { actuatorValues, tellRefused } from './actuator-values.ts';
import { APPLIED_VALUES_FORMAT, AppliedValues } from './applied-values.ts';
import { runAttributeLoop } from './attribute-loop.ts';
import { reportChanging } from './changing-identity.ts';
import { ClientAttributes } from './client-attributes.ts';
import { SharedAttributes } from './shared-attributes.ts';
import { actuatorTarget, type SharedTarget, settingTarget } from './shared-target.ts';
import { UnknownSettings } from './unknown-settings.ts';

export interface DeviceAttributesDeps extends Pick<HostMachine, 'clock' | 'files'> {
  readonly config: () => AgentConfig;
  readonly deviceApi: DeviceApi;
  /** Actuators that shared attributes move: the gateway's own. */
  readonly actuators: OwnActuators;
  readonly log: Log;
  readonly alerts: Alerts;
  /** Asked each time: a changed configuration brings other settings. */
  readonly live: Pick<LiveConfig, 'settings' | 'overrides'>;
  /** Offers of updates are shared attributes. */
  readonly firmware: Pick<FirmwareUpdates, 'keys' | 'consider'>;
  /** Identity of the device: model, serial, version, boot id, addresses, the configuration's hash. */
  readonly identity: JsonObject;
  /** Time between two readings of shared attributes where the link is too dear to wait for updates. */
  readonly wakes?: () => number | undefined;
  /** By which the poll ends together with the one for commands. */
  readonly beat?: PollBeat;
  /** Returns the part of it that changes by itself: addresses, units of keys. Called now and then. */
  readonly changing: () => JsonObject;
}

export class DeviceAttributes {
  readonly client: ClientAttributes;
  readonly shared: SharedAttributes;
  readonly #deps: DeviceAttributesDeps;
  readonly #applied: AppliedValues;
  readonly #unknown: UnknownSettings;

  private constructor(
    deps: DeviceAttributesDeps,
    parts: Pick<DeviceAttributes, 'client' | 'shared'>,
    { applied, unknown }: { readonly applied: AppliedValues; readonly unknown: UnknownSettings },
  ) {
    this.#deps = deps;
    this.#unknown = unknown;
    this.client = parts.client;
    this.shared = parts.shared;
    this.#applied = applied;
  }

  /** Settings that were shared before hold once this resolves. */
  static async open(deps: DeviceAttributesDeps, signal: AbortSignal): Promise<DeviceAttributes> {
    const { config, files, clock, log, actuators, firmware } = deps;
    const { stateFolder, runFolder } = config();
    const name = 'shared-attributes.json';
    const places = { path: join(stateFolder, name), behindMark: join(runFolder, 'behind', name) };
    const applied = await AppliedValues.open(
      new StateFile({ ...APPLIED_VALUES_FORMAT, ...places, files, clock, log, alerts: deps.alerts }),
    );
    const client = new ClientAttributes({ deviceApi: deps.deviceApi, wakes: deps.wakes, clock, log });
    let opened: SharedAttributes | undefined;
    const wishes = (): JsonObject => ({
      effectiveSettings: deps.live.overrides,
      sharedRefused: opened?.refusals ?? {},
    });
    // Not while a value is being applied: what it changes shows itself a moment later.
    const onChange = (): void =>
      queueMicrotask(() => {
        client.report(wishes());
        tellRefused(opened?.lastingRefusals ?? {}, 'shared attributes', deps.alerts);
      });
    const unknown = new UnknownSettings(() => deps.live.settings());
    const offers = {
      firmwareKeys: firmware.keys,
      onFirmwareOffer: (offer: JsonObject, saved: ReadonlySet<string>) => firmware.consider(offer, saved),
    };
    const targets = (): readonly SharedTarget[] => targetsOf(deps, unknown);
    const shared = await SharedAttributes.open({ targets, applied, ...offers, onChange, log }, signal);
    opened = shared;
    client.report({ ...deps.identity, ...config().attributes.client, ...ownValues(deps), ...wishes() });
    actuators.control.onState(() => client.report(ownValues(deps)));
    return new DeviceAttributes(deps, { client, shared }, { applied, unknown });
  }

  /** Returns the loops that speak with the platform until the signal aborts: no kind of poll may ever stand twice. */
  loops(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    const { config, deviceApi, clock, log, actuators } = this.#deps;
    const { platform, attributes } = config();
    const { contact } = actuators.control;
    const loop = {
      deviceApi,
      clock,
      log,
      shared: this.shared,
      client: this.client,
      ...pollLimits(platform),

      wakes: this.#deps.wakes,
      beat: this.#deps.beat,
      canBeSet: () => this.shared.keys.length > 0,
      reconcilePeriodMs: () => config().platform.reconcilePeriodMs,
      readBackPeriodMs: attributes.readBackPeriodMs,
      onSaved: (keys: readonly string[]) => this.#unknown.noteSaved(keys),
      onContact: () => contact.heard(),
      onQuiet: (ask: () => void) => contact.onQuiet(ask),
    };
    const identity = { client: this.client, clock, look: this.#deps.changing };
    return [
      (signal) => this.client.run(signal),
      (signal) => runAttributeLoop(loop, signal),
      (signal) => reportChanging(identity, signal),
    ];
  }

  /** The configuration in force is another: its settings and its hash are told. */
  configurationChanged(configHash: string): void {
    this.client.report({ configHash, effectiveSettings: this.#deps.live.overrides });
    tellRefused(this.shared.lastingRefusals, 'shared attributes', this.#deps.alerts);
  }

  /** Everything known is on disk when this resolves. Idempotent; its loops have ended before. */
  async close(): Promise<void> {
    await this.#applied.close();
  }
}

function ownValues({ actuators, config }: DeviceAttributesDeps): JsonObject {
  return actuatorValues(
    actuators,
    config().actuators.filter(({ device }) => device === undefined),
  );
}

function targetsOf(
  { config, actuators, live }: DeviceAttributesDeps,
  unknown: UnknownSettings,
): readonly SharedTarget[] {
  const { attributes } = config();
  return [
    ...actuators.configs.map(({ desiredKey, name }) => actuatorTarget(desiredKey, name, actuators.control)),
    ...(attributes.liveSettings ? [...live.settings().map(settingTarget), ...unknown.targets()] : []),
  ];
}

export async function identityAttributes(
  { hostname, serial, mac }: BoardIdentity,
  { clock, boardModel, networkAddresses }: Pick<HostMachine, 'clock' | 'boardModel' | 'networkAddresses'>,
  configHash: string,
): Promise<JsonObject> {
  const model = (await boardModel()) ?? 'unknown';
  return {
    model,
    version: agentVersion(),
    bootId: clock.bootId,
    configHash,
    hostname,
    addresses: networkAddresses(),
    serial,
    mac,
  };
}

/**
 * Attributes of one device, the gateway or another: what it says of itself, and what the platform wishes of it. The gateway has more targets, its
 * live settings; each device has its own actuators, and offers of packages.
 */
import { basename, join } from 'node:path';
import type { OwnActuators } from '../actuators/own-actuators.ts';
import type { LiveConfig } from '../config/live-config.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import type { DeviceAtPlatform } from '../devices/device.ts';
import type { Alerts } from '../host/alert-list.ts';
import { untilAborted } from '../host/bounded-wait.ts';
import type { BoardIdentity } from '../host/identity.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import { agentVersion } from '../host/version.ts';
import { pollLimits } from '../platform/poll-length.ts';
import { StateFile } from '../store/state-file.ts';
import type { JsonObject } from '../values/json.ts';
import { actuatorValues, tellRefused } from './actuator-values.ts';
import { APPLIED_VALUES_FORMAT, AppliedValues } from './applied-values.ts';
import { type AttributeLoopDeps, runAttributeLoop } from './attribute-loop.ts';
import { reportChanging } from './changing-identity.ts';
import { ClientAttributes } from './client-attributes.ts';
import { SharedAttributes } from './shared-attributes.ts';
import { actuatorTarget, type SharedTarget, settingTarget } from './shared-target.ts';
import { UnknownSettings } from './unknown-settings.ts';

export interface DeviceAttributesDeps extends Pick<HostMachine, 'clock' | 'files'> {
  readonly config: () => AgentConfig;
  /** Its slot in the configuration; undefined of the gateway. */
  readonly slot: string | undefined;
  readonly device: DeviceAtPlatform;
  /** Actuators that shared attributes move: its own. */
  readonly actuators: OwnActuators;
  /** Turn or beat of its poll among the other polls; undefined where nothing is shared with the device. */
  readonly poll: Pick<AttributeLoopDeps, 'place' | 'beat'> | undefined;
  /** Time between two readings of shared attributes where the link is too dear to wait for updates. */
  readonly wakes?: (() => number | undefined) | undefined;
  /** Settings that can be shared with it, asked each time: a changed configuration brings others. Undefined of all but the gateway. */
  readonly live?: Pick<LiveConfig, 'settings' | 'overrides'> | undefined;
  /** Offers of updates are shared attributes; undefined of a device that takes none. */
  readonly firmware: OffersTaken | undefined;
  /** Targets beside its outputs and settings. */
  readonly others?: (() => readonly SharedTarget[]) | undefined;
  /** Returns the client attributes by which the device describes itself. Called now and then. */
  readonly identity: () => JsonObject;
  readonly log: Log;
  readonly alerts: Alerts;
}

interface OffersTaken {
  /** Shared attributes that are to be asked for. */
  readonly keys: readonly string[];
  /** Takes the attributes as they were read, and which of them the platform has told of. */
  readonly consider: (shared: JsonObject, saved: ReadonlySet<string>) => void;
}

/** Shared attributes of the platform, and the values that were applied. */
interface Wishes {
  readonly shared: SharedAttributes;
  readonly applied: AppliedValues;
  readonly unknown: UnknownSettings | undefined;
}

export class DeviceAttributes {
  readonly client: ClientAttributes;
  readonly #deps: DeviceAttributesDeps;
  #wishes: Wishes | undefined;
  readonly #stopListening: () => void;

  private constructor(deps: DeviceAttributesDeps) {
    const { clock, log, device, wakes, actuators } = deps;
    this.#deps = deps;
    this.client = new ClientAttributes({ deviceApi: device.deviceApi, wakes, clock, log });
    this.#stopListening = actuators.control.onState(() => this.client.report(ownValues(deps)));
  }

  /** Settings that were shared before hold once this resolves. */
  static async open(deps: DeviceAttributesDeps, signal: AbortSignal): Promise<DeviceAttributes> {
    const opened = new DeviceAttributes(deps);
    if (deps.poll !== undefined) opened.#wishes = await openWishes(deps, () => opened.#wishesChanged(), signal);
    opened.client.report({ ...deps.identity(), ...ownValues(deps), ...opened.#told() });
    return opened;
  }

  /** Returns the loops that speak with the platform until the signal aborts: no kind of poll may ever stand twice. */
  loops(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    const { clock, identity } = this.#deps;
    const saying = { client: this.client, clock, look: identity };
    const wishes = this.#wishes;
    return [
      (signal) => this.client.run(signal),
      (signal) => reportChanging(saying, signal),
      (signal) => (wishes === undefined ? this.#askWhenQuiet(signal) : this.#follow(wishes, signal)),
    ];
  }

  /** The configuration in force is another: its settings and its hash are told. */
  configurationChanged(): void {
    this.client.report({ ...this.#deps.identity(), ...this.#told() });
    this.#alertRefused();
  }

  /** Everything known is on disk when this resolves. Idempotent; its loops have ended before. */
  async close(): Promise<void> {
    this.#stopListening();
    await this.#wishes?.applied.close();
  }

  async #follow({ shared, unknown }: Wishes, signal: AbortSignal): Promise<void> {
    const { config, device, clock, log, actuators, poll, wakes } = this.#deps;
    const { platform, attributes } = config();
    const { contact } = actuators.control;
    await runAttributeLoop(
      {
        deviceApi: device.deviceApi,
        clock,
        log,
        shared,
        client: this.client,
        ...pollLimits(platform),
        place: poll?.place,
        beat: poll?.beat,
        wakes,
        canBeSet: () => shared.keys.length > 0,
        reconcilePeriodMs: () => config().platform.reconcilePeriodMs,
        readBackPeriodMs: attributes.readBackPeriodMs,
        onSaved: (keys) => unknown?.noteSaved(keys),
        onContact: () => contact.heard(),
        onQuiet: (ask) => contact.onQuiet(ask),
      },
      signal,
    );
  }

  /** Without shared attributes nothing else asks whether the platform is there, before an output falls back. */
  async #askWhenQuiet(signal: AbortSignal): Promise<void> {
    const { actuators, device } = this.#deps;
    const ask = async (): Promise<void> => {
      await device.deviceApi.getAttributes({ clientKeys: ['active'] }, signal);
      actuators.control.contact.heard();
    };
    const stop = actuators.control.contact.onQuiet(() => void ask().catch(() => {}));
    await untilAborted(new Promise<never>(() => {}), signal).catch(() => {});
    stop();
  }

  #wishesChanged(): void {
    // Deferred: while a value is being applied its effect is not visible yet.
    queueMicrotask(() => {
      this.client.report(this.#told());
      this.#alertRefused();
    });
  }

  /** Returns effective settings and refusals; nothing where nothing is shared. */
  #told(): JsonObject {
    if (this.#wishes === undefined) return {};
    return { effectiveSettings: this.#deps.live?.overrides, sharedRefused: this.#wishes.shared.refusals };
  }

  #alertRefused(): void {
    const { slot, device, alerts } = this.#deps;
    const alert = slot === undefined ? 'shared attributes' : `shared attributes of ${device.name}`;
    tellRefused(this.#wishes?.shared.lastingRefusals ?? {}, alert, alerts);
  }
}

async function openWishes(deps: DeviceAttributesDeps, onChange: () => void, signal: AbortSignal): Promise<Wishes> {
  const { config, files, clock, log, alerts, live, slot, device, firmware } = deps;
  const name = 'shared-attributes.json';
  const mark = slot === undefined ? name : `${basename(device.folder)}-${name}`;
  const applied = await AppliedValues.open(
    new StateFile({
      ...APPLIED_VALUES_FORMAT,
      path: join(device.folder, name),
      behindMark: join(config().runFolder, 'behind', mark),
      files,
      clock,
      log,
      alerts,
    }),
  );
  const unknown = live && new UnknownSettings(() => live.settings());
  const shared = await SharedAttributes.open(
    {
      targets: () => targetsOf(deps, unknown),
      applied,
      firmwareKeys: firmware?.keys ?? [],
      onFirmwareOffer: (offer, saved) => firmware?.consider(offer, saved),
      onChange,
      log,
    },
    signal,
  );
  return { shared, applied, unknown };
}

/** Returns the values of its actuators. An attached device without actuators reports nothing, the gateway empty faults. */
function ownValues({ actuators, config, slot }: DeviceAttributesDeps): JsonObject {
  const configured = config().actuators.filter(({ device }) => device === slot);
  return slot !== undefined && configured.length === 0 ? {} : actuatorValues(actuators, configured);
}

function targetsOf(
  { config, actuators, live, others = () => [] }: DeviceAttributesDeps,
  unknown: UnknownSettings | undefined,
): readonly SharedTarget[] {
  const outputs = actuators.configs.map(({ desiredKey, name }) => actuatorTarget(desiredKey, name, actuators.control));
  const moved = [...outputs, ...others()];
  if (live === undefined || !config().attributes.liveSettings) return moved;
  return [...moved, ...live.settings().map(settingTarget), ...(unknown?.targets() ?? [])];
}

/** Identity of the gateway that stays while the agent runs. */
export async function boardAttributes(
  { hostname, serial, mac }: BoardIdentity,
  { clock, boardModel }: Pick<HostMachine, 'clock' | 'boardModel'>,
): Promise<JsonObject> {
  const model = (await boardModel()) ?? 'unknown';
  return { model, version: agentVersion(), bootId: clock.bootId, hostname, serial, mac };
}

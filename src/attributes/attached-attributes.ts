/**
 * Attributes of an attached device: what it says of itself, what the platform wishes of its actuators, and packages for it. Settings, credentials
 * and updates of the agent are the gateway's and stand in no attribute of another device.
 */
import { basename, join } from 'node:path';
import type { OwnActuators } from '../actuators/own-actuators.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import type { AttachedFirmware } from '../firmware/attached-firmware.ts';
import type { Alerts } from '../host/alert-list.ts';
import type { JsonObject } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import type { PollPlace } from '../platform/poll-turns.ts';
import { StateFile } from '../store/state-file.ts';
import { actuatorValues, tellRefused } from './actuator-values.ts';
import { APPLIED_VALUES_FORMAT, AppliedValues } from './applied-values.ts';
import { runAttributeLoop } from './attribute-loop.ts';
import { reportChanging } from './changing-identity.ts';
import { ClientAttributes } from './client-attributes.ts';
import { SharedAttributes } from './shared-attributes.ts';
import { actuatorTarget } from './shared-target.ts';

export interface AttachedAttributesDeps extends Pick<HostMachine, 'clock' | 'files'> {
  readonly config: () => AgentConfig;
  readonly device: { readonly folder: string; readonly name: string; readonly deviceApi: DeviceApi };
  /** Its slot in the configuration. */
  readonly slot: string;
  /** Its own. */
  readonly actuators: OwnActuators;
  /** Where its poll stands in turns; undefined where it holds none, and nothing is shared with it. */
  readonly place: PollPlace | undefined;
  /** Time between two readings of shared attributes where the link is too dear to wait for updates. */
  readonly wakes?: (() => number | undefined) | undefined;
  /** Offers of updates are shared attributes; undefined of a device that takes none. */
  readonly firmware?: Pick<AttachedFirmware, 'keys' | 'consider'>;
  /** Returns what it says of itself. Called now and then. */
  readonly identity: () => JsonObject;
  readonly log: Log;
  readonly alerts: Alerts;
}

/** Wishes of the platform, and those that were acted on. */
interface Wishes {
  readonly shared: SharedAttributes;
  readonly applied: AppliedValues;
  readonly place: PollPlace;
}

export class AttachedAttributes {
  readonly #deps: AttachedAttributesDeps;
  readonly #client: ClientAttributes;
  readonly #wishes: Wishes | undefined;
  readonly #stopListening: () => void;

  private constructor(deps: AttachedAttributesDeps, client: ClientAttributes, wishes: Wishes | undefined) {
    this.#deps = deps;
    this.#client = client;
    this.#wishes = wishes;
    this.#stopListening = deps.actuators.control.onState(() => client.report(ownValues(deps)));
  }

  static async open(deps: AttachedAttributesDeps, signal: AbortSignal): Promise<AttachedAttributes> {
    const { clock, log, device, place } = deps;
    const client = new ClientAttributes({ deviceApi: device.deviceApi, wakes: deps.wakes, clock, log });
    client.report({ ...deps.identity(), ...ownValues(deps) });
    const wishes = place === undefined ? undefined : await openWishes({ ...deps, place, client }, signal);
    return new AttachedAttributes(deps, client, wishes);
  }

  /** Returns the loops that speak with the platform until the signal aborts. */
  loops(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    const { config, device, clock, log, actuators } = this.#deps;
    const { platform, attributes } = config();
    const saying = { client: this.#client, clock, look: this.#deps.identity };
    const tell = [
      (signal: AbortSignal) => this.#client.run(signal),
      (signal: AbortSignal) => reportChanging(saying, signal),
    ];
    if (this.#wishes === undefined) return [...tell, (signal: AbortSignal) => this.#askWhenQuiet(signal)];
    const { shared, place } = this.#wishes;
    const loop = {
      deviceApi: device.deviceApi,
      clock,
      log,
      shared,
      client: this.#client,
      place,
      pollTimeoutMs: platform.pollTimeoutMs,
      wakes: this.#deps.wakes,
      reconcilePeriodMs: () => config().platform.reconcilePeriodMs,
      readBackPeriodMs: attributes.readBackPeriodMs,
      onContact: () => actuators.control.contact.heard(),
      onQuiet: (ask: () => void) => actuators.control.contact.onQuiet(ask),
    };
    return [...tell, (signal) => runAttributeLoop(loop, signal)];
  }

  /** Everything known is on disk when this resolves. Idempotent; its loops have ended before. */
  async close(): Promise<void> {
    this.#stopListening();
    await this.#wishes?.applied.close();
  }

  /** Without shared attributes nothing else asks whether the platform is there, before an output falls back. */
  async #askWhenQuiet(signal: AbortSignal): Promise<void> {
    const { actuators, device } = this.#deps;
    const ask = async (): Promise<void> => {
      await device.deviceApi.getAttributes({ clientKeys: ['active'] }, signal);
      actuators.control.contact.heard();
    };
    const stop = actuators.control.contact.onQuiet(() => void ask().catch(() => {}));
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    stop();
  }
}

async function openWishes(
  deps: AttachedAttributesDeps & { readonly place: PollPlace; readonly client: ClientAttributes },
  signal: AbortSignal,
): Promise<Wishes> {
  const { files, clock, log, alerts, actuators, device, client, place, config, firmware } = deps;
  const name = 'shared-attributes.json';
  const places = {
    path: join(device.folder, name),
    behindMark: join(config().runFolder, 'behind', `${basename(device.folder)}-${name}`),
  };
  const applied = await AppliedValues.open(
    new StateFile({ ...APPLIED_VALUES_FORMAT, ...places, files, clock, log, alerts }),
  );
  let opened: SharedAttributes | undefined;
  // Not while a value is being applied: what it changes shows itself a moment later.
  const onChange = (): void =>
    queueMicrotask(() => {
      client.report({ sharedRefused: opened?.refusals ?? {} });
      tellRefused(opened?.lastingRefusals ?? {}, `shared attributes of ${device.name}`, alerts);
    });
  const targets = actuators.configs.map(({ desiredKey, name: actuator }) =>
    actuatorTarget(desiredKey, actuator, actuators.control),
  );
  const offers = {
    firmwareKeys: firmware?.keys ?? [],
    onFirmwareOffer: (offer: JsonObject, saved: ReadonlySet<string>) => firmware?.consider(offer, saved),
  };
  opened = await SharedAttributes.open({ targets: () => targets, applied, ...offers, onChange, log }, signal);
  return { shared: opened, applied, place };
}

/** Nothing is told by a device that has no actuator. */
function ownValues({ actuators, config, slot }: AttachedAttributesDeps): JsonObject {
  const configured = config().actuators.filter(({ device }) => device === slot);
  return configured.length === 0 ? {} : actuatorValues(actuators, configured);
}

/**
 * Commands and attributes of one device, the gateway or another: they reach its own actuators and sensors alone. Its journal of commands and its
 * memory of shared values lie in its folder.
 */
import type { OwnActuators } from '../actuators/own-actuators.ts';
import { DeviceAttributes, type DeviceAttributesDeps } from '../attributes/device-attributes.ts';
import { runTogether } from '../host/loops.ts';
import type { Operation } from '../operations/operation.ts';
import { RpcService, type RpcServiceDeps } from '../rpc/rpc-service.ts';
import { ownMethodConfigs } from './own-commands.ts';

export interface DeviceCommandsDeps
  extends Omit<DeviceAttributesDeps, 'poll' | 'wakes'>,
    Pick<RpcServiceDeps, 'locked' | 'onCommand'> {
  readonly methods: readonly Operation[];
  /** Places of its polls among those of other devices; undefined for a kind that it does not poll for. */
  readonly polls: {
    readonly rpc: Pick<RpcServiceDeps, 'place' | 'beat'> | undefined;
    readonly attributes: DeviceAttributesDeps['poll'];
  };
  /** Returns the time between two looks for messages, infinite for none; undefined where polls stand. */
  readonly wakes: (kind: 'commands' | 'attributes') => number | undefined;
}

export class DeviceCommands {
  readonly #rpc: RpcService | undefined;
  readonly #attributes: DeviceAttributes;

  private constructor(rpc: RpcService | undefined, attributes: DeviceAttributes) {
    this.#rpc = rpc;
    this.#attributes = attributes;
  }

  /**
   * Polls nothing yet; settings that were shared before hold once this resolves.
   * @throws AgentError `rpc/method-twice` (stop) for a declared method with a built-in one's name.
   */
  static async open(deps: DeviceCommandsDeps, signal: AbortSignal): Promise<DeviceCommands> {
    const { polls, wakes } = deps;
    const rpc = polls.rpc && (await openRpc(deps, polls.rpc));
    const attributes = await DeviceAttributes.open(
      { ...deps, poll: polls.attributes, wakes: () => wakes('attributes') },
      signal,
    );
    return new DeviceCommands(rpc, attributes);
  }

  /** Client attributes: how the device describes itself. */
  get client(): DeviceAttributes['client'] {
    return this.#attributes.client;
  }

  /** Reports the settings and the hash of a changed configuration. */
  configurationChanged(): void {
    this.#attributes.configurationChanged();
  }

  /** Runs the loops until the signal aborts. When one fails, all end, so that no kind of poll stands twice. @throws the first failure. */
  async run(signal: AbortSignal): Promise<void> {
    const rpc = this.#rpc;
    const answers = rpc === undefined ? [] : [(either: AbortSignal) => rpc.run(either)];
    await runTogether([...this.#attributes.loops(), ...answers], signal);
  }

  /** Everything known is on disk when this resolves. Idempotent; `run` has ended before. */
  async close(): Promise<void> {
    await Promise.all([this.#rpc?.close(), this.#attributes.close()]);
  }
}

function openRpc(
  deps: DeviceCommandsDeps,
  { place, beat }: Pick<RpcServiceDeps, 'place' | 'beat'>,
): Promise<RpcService> {
  const { config, slot, device, clock, files, log, methods, locked, onCommand, wakes } = deps;
  const { contact }: OwnActuators['control'] = deps.actuators.control;
  return RpcService.open({
    config,
    deviceApi: device.deviceApi,
    clock,
    files,
    log,
    methods,
    permissions: ownMethodConfigs(config(), slot),
    folder: device.folder,
    place,
    beat,
    wakes: () => wakes('commands'),
    locked,
    onContact: () => contact.heard(),
    onCommand,
  });
}

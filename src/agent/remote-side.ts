/**
 * Everything that is told from afar, joined: shared attributes, client attributes and server-side RPC, each over the platform client that
 * it is given. The journal is open before the first poll.
 */

import { join } from 'node:path';
import { APPLIED_VALUES_FORMAT, AppliedValues } from '../attributes/applied-values.ts';
import { runAttributeLoop } from '../attributes/attribute-loop.ts';
import { ClientAttributes } from '../attributes/client-attributes.ts';
import { SharedAttributes } from '../attributes/shared-attributes.ts';
import { actuatorTarget, type LiveSetting, type SharedTarget, settingTarget } from '../attributes/shared-target.ts';
import type { AgentConfig } from '../config/agent-config.ts';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { RunProgram } from '../host/run-program.ts';
import { runTogether } from '../host/run-together.ts';
import { StateFile } from '../host/state-file.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import { actuatorMethods } from '../rpc/actuator-methods.ts';
import { type BuiltInWork, builtInMethods, readingsAsJson } from '../rpc/built-in-methods.ts';
import { declaredMethods, methodLeaves } from '../rpc/declared-methods.ts';
import { JournalFile } from '../rpc/journal-storage.ts';
import { MethodTable } from '../rpc/method-table.ts';
import { type Checkpoint, RpcExecutor } from '../rpc/rpc-executor.ts';
import { RpcJournal } from '../rpc/rpc-journal.ts';
import { runRpcLoop } from '../rpc/rpc-loop.ts';
import type { RpcMethod } from '../rpc/rpc-method.ts';
import type { ActuatorSide } from './actuator-side.ts';

export interface RemoteSideDeps {
  readonly config: () => AgentConfig;
  readonly deviceApi: DeviceApi;
  /** What is moved, and what holds it back. */
  readonly side: Pick<ActuatorSide, 'actuators' | 'configs' | 'lockout'>;
  readonly files: Files;
  readonly runProgram: RunProgram;
  readonly clock: Clock;
  readonly log: Log;
  readonly work: BuiltInWork;
  /** Methods of other rooms: credentials, firmware. */
  readonly methods?: readonly RpcMethod[];
  /** Asked each time: a changed configuration brings other settings. */
  readonly settings: () => readonly LiveSetting[];
  readonly firmwareKeys: readonly string[];
  readonly onFirmwareOffer: (attributes: JsonObject) => void;
  /** Who the device is: model, serial, version, boot id, addresses, the configuration's hash. */
  readonly identity: JsonObject;
  /** What of that changes by itself: addresses. Looked at now and then. */
  readonly changing: () => JsonObject;
  /** Told at every moment of an RPC; only tests listen. */
  readonly checkpoint?: (name: Checkpoint) => void;
}

/** A lease or a modem may give another address at any time; a dashboard may wait this long for it. */
const LOOK_AT_IDENTITY_MS = 60_000;

export class RemoteSide {
  readonly client: ClientAttributes;
  readonly shared: SharedAttributes;
  readonly #deps: RemoteSideDeps;
  readonly #journal: RpcJournal;
  readonly #executor: RpcExecutor;
  readonly #applied: AppliedValues;

  private constructor(
    deps: RemoteSideDeps,
    parts: { client: ClientAttributes; shared: SharedAttributes; journal: RpcJournal; applied: AppliedValues },
  ) {
    this.#deps = deps;
    this.client = parts.client;
    this.shared = parts.shared;
    this.#journal = parts.journal;
    this.#executor = executorOf(deps, parts.journal);
    this.#applied = parts.applied;
  }

  /** Settings that were shared before hold once this resolves. @throws AgentError `rpc/method-twice` (stop) for a declared method with a built-in one's name. */
  static async open(deps: RemoteSideDeps, signal: AbortSignal): Promise<RemoteSide> {
    const { config, files, clock, log, side } = deps;
    const { stateFolder, runFolder } = config();
    const name = 'shared-attributes.json';
    const journal = await RpcJournal.open({ storage: new JournalFile(files, join(stateFolder, 'rpc.journal')), clock, log });
    const applied = await AppliedValues.open(
      new StateFile({
        ...{ ...APPLIED_VALUES_FORMAT, files, clock, log },
        ...{ path: join(stateFolder, name), behindMark: join(runFolder, 'behind', name) },
      }),
    );
    const client = new ClientAttributes({ deviceApi: deps.deviceApi, clock, log });
    // Not while a value is being applied: what it changes shows itself a moment later.
    const onChange = (): void => queueMicrotask(() => client.report({ ...settingValues(deps), sharedRefused: opened?.refusals ?? {} }));
    const targets = (): readonly SharedTarget[] => targetsOf(deps);
    const { firmwareKeys, onFirmwareOffer } = deps;
    let opened: SharedAttributes | undefined;
    const shared = await SharedAttributes.open({ targets, applied, firmwareKeys, onFirmwareOffer, onChange, log }, signal);
    opened = shared;
    client.report({
      ...deps.identity,
      ...config().attributes.client,
      ...actuatorValues(deps),
      ...settingValues(deps),
      sharedRefused: shared.refusals,
    });
    side.actuators.onState(() => client.report(actuatorValues(deps)));
    return new RemoteSide(deps, { client, shared, journal, applied });
  }

  /** Speaks with the platform until the signal aborts. When one loop fails all end, so that no kind of poll ever stands twice. */
  async run(signal: AbortSignal): Promise<void> {
    await runTogether(this.#loops(), signal);
  }

  #loops(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    const { config, deviceApi, clock, log, side } = this.#deps;
    const { platform, attributes, rpc } = config();
    const onContact = (): void => side.actuators.contact.heard();
    const common = { deviceApi, clock, log, onContact, pollTimeoutMs: platform.pollTimeoutMs };
    const reading = {
      reconcilePeriodMs: () => config().platform.reconcilePeriodMs,
      readBackPeriodMs: attributes.readBackPeriodMs,
      onQuiet: (ask: () => void) => side.actuators.contact.onQuiet(ask),
    };
    return [
      (signal) => this.client.run(signal),
      (signal) => runAttributeLoop({ ...common, ...reading, shared: this.shared, client: this.client }, signal),
      (signal) => this.#watchIdentity(signal),
      ...(rpc.enabled ? [(signal: AbortSignal) => runRpcLoop({ ...common, executor: this.#executor }, signal)] : []),
    ];
  }

  /** The configuration in force is another: its settings and its hash are told. */
  configurationChanged(configHash: string): void {
    this.client.report({ configHash, ...settingValues(this.#deps) });
  }

  /** Everything known is on disk when this resolves. Idempotent; `run` has ended before. */
  async close(): Promise<void> {
    await Promise.all([this.#journal.close(), this.#applied.close()]);
  }

  async #watchIdentity(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.client.report(this.#deps.changing());
      await this.#deps.clock.sleep(LOOK_AT_IDENTITY_MS, signal);
    }
  }
}

function executorOf(deps: RemoteSideDeps, journal: RpcJournal): RpcExecutor {
  const { config, side, clock, runProgram, log, work, methods = [], checkpoint } = deps;
  const { actuators, lockout } = side;
  const readSensor = async (name: string, signal: AbortSignal): Promise<JsonValue> => readingsAsJson(await work.readSensor(name, signal));
  const table = new MethodTable({
    clock,
    methods: [
      ...builtInMethods(work),
      ...actuatorMethods(actuators),
      ...methods,
      ...declaredMethods(config().rpc.methods, { actuators, readSensor, clock, runProgram }),
    ],
    leaves: methodLeaves(config().rpc.methods),
    locked: () => lockout.locked,
  });
  return new RpcExecutor({ journal, methods: table, clock, log, ...(checkpoint === undefined ? {} : { checkpoint }) });
}

function targetsOf({ config, side, settings }: RemoteSideDeps): readonly SharedTarget[] {
  const { attributes } = config();
  return [
    ...side.configs.map(({ desiredKey, name }) => actuatorTarget(desiredKey, name, side.actuators)),
    ...(attributes.liveSettings ? settings().map(settingTarget) : []),
  ];
}

/** What the hardware shows, and why it does not show what was wished. An attribute cannot be taken back, so what is not known is said in a word. */
function actuatorValues({ side }: RemoteSideDeps): JsonObject {
  const states = side.configs.map(({ name, stateKey }) => ({ stateKey, ...side.actuators.state(name) }));
  return {
    ...Object.fromEntries(states.map(({ stateKey, value }) => [stateKey, value ?? 'unknown'])),
    actuatorFaults: Object.fromEntries(states.flatMap(({ name, fault }) => (fault === undefined ? [] : [[name, fault]]))),
  };
}

function settingValues({ settings }: RemoteSideDeps): JsonObject {
  return Object.fromEntries(settings().map(({ key, effective }) => [`${key}.effective`, effective()]));
}

/** Joins configurations from afar to what they look at and change: the file, the helper, the loops that a trial is judged by. */
import { join } from 'node:path';
import type { Actuators } from '../actuators/actuators.ts';
import type { SharedTarget } from '../attributes/shared-target.ts';
import type { ConfigFile } from '../config/config-file.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { refusal } from '../errors/agent-error.ts';
import type { FirmwareUpdates } from '../firmware/firmware-updates.ts';
import { expectHelper, leaveRequest } from '../firmware/swap-request.ts';
import { updateFiles } from '../firmware/update-files.ts';
import type { BuiltInHandler } from '../firmware/updater-deps.ts';
import type { Environment } from '../host/environment.ts';
import type { Log } from '../host/log.ts';
import { randomId } from '../host/random.ts';
import type { Link } from '../link/link.ts';
import type { Configurations } from '../operations/configuration-operations.ts';
import type { PlatformClients } from '../platform/platform-clients.ts';
import { configurationPackages } from '../remote-config/configuration-packages.ts';
import { fileHash } from '../remote-config/file-hash.ts';
import type { PollWatch } from '../remote-config/poll-watch.ts';
import { type ConfigurationState, REMOTE_CONFIGURATION_FORMAT, RemoteConfig } from '../remote-config/remote-config.ts';
import { sensorSettings } from '../remote-config/sensor-settings.ts';
import { configurationsTold } from '../remote-config/told-configurations.ts';
import { isDueWithin } from '../remote-config/trial-judge.ts';
import type { Sampler } from '../sensors/sampler.ts';
import { StateFile } from '../store/state-file.ts';
import type { TelemetryPath } from '../telemetry/telemetry-path.ts';
import { stringifyJson } from '../values/json.ts';
import type { Machine } from './machine.ts';

export interface RemoteConfigurationDeps {
  readonly file: ConfigFile;
  readonly environment: Environment;
  readonly config: () => AgentConfig;
  readonly machine: Pick<Machine, 'clock' | 'files' | 'randomBytes' | 'readConfigBytes' | 'readConfig'>;
  readonly log: Log;
  readonly link: Pick<Link, 'wakes'>;
  readonly telemetry: Pick<TelemetryPath, 'uploader'>;
  readonly sampler: Pick<Sampler, 'states'>;
  readonly actuators: Pick<Actuators, 'states' | 'lockout'>;
  readonly firmware: Pick<FirmwareUpdates, 'status' | 'isInstalling'>;
  readonly contact: Pick<PlatformClients['contact'], 'status'>;
  readonly polls: { readonly commands: PollWatch; readonly attributes: PollWatch };
  readonly onState: (state: ConfigurationState) => void;
}

/** Shared attribute that holds a patch. */
const PATCH_KEY = 'configurationPatch';

export interface RemoteConfigurations {
  readonly remote: RemoteConfig;
  readonly operations: Configurations;
  readonly target: SharedTarget;
  /** Takes the gateway's software packages of this title; undefined for every other title. */
  readonly packages: (title: string) => BuiltInHandler | undefined;
}

export function openRemoteConfigurations(deps: RemoteConfigurationDeps): RemoteConfigurations {
  const { file, environment, config, machine, log, onState } = deps;
  const { clock, randomBytes } = machine;
  const files = updateFiles(machine.files);
  const { stateFolder, firmware } = config();
  const paths = { home: firmware.installFolder, guard: firmware.guardFolder, firmware: join(stateFolder, 'firmware') };
  const runningHash = (): string | undefined => file.fileHash;
  const remote = new RemoteConfig({
    clock,
    log,
    files,
    paths,
    settings: () => config().remoteConfiguration,
    runningHash,
    readInPlace: () => machine.readConfigBytes(file.path),
    check: (bytes) => machine.readConfig(file.path, { environment, bytes }),
    restartFor: (changed) => file.restartFor(changed),
    busy: (needs) => busy(deps, needs),
    readingWithin: (ms, changed) => readingWithin(deps, ms, changed),
    observe: (sinceMs) => observe(deps, sinceMs),
    expectHelper: () => expectHelper({ files, paths }),
    leaveRequest: (request) => leaveRequest({ files, paths, clock }, request),
    file: new StateFile({
      ...REMOTE_CONFIGURATION_FORMAT,
      path: join(stateFolder, 'remote-configuration.json'),
      files: machine.files,
      clock,
      log,
    }),
    newId: () => randomId(randomBytes),
    onState,
  });
  const packages = configurationPackages({ remote, clock, files, waitMs: firmware.downloadDeadlineMs });
  return {
    remote,
    packages: (title) => {
      const { enabled, title: own } = config().remoteConfiguration;
      return enabled && title === own ? packages : undefined;
    },
    operations: {
      take: (wanted, origin, options) => remote.take(wanted, origin, options),
      tell: () => configurationsTold(remote, { files, paths, runningHash, clock }),
      settingsOf: (name) =>
        sensorSettings(config(), {
          name,
          base: runningHash() ?? '',
          seen:
            deps.sampler
              .states()
              .find((one) => one.name === name)
              ?.readings.map(({ key }) => key) ?? [],
        }),
    },
    target: {
      key: PATCH_KEY,
      shape: { type: 'object' },
      switchesOff: () => false,
      apply: async (patch) => {
        const hash = fileHash(Buffer.from(stringifyJson(patch)));
        if (remote.knows(hash)) return;
        const taken = await remote.take({ patch }, 'patch');
        if (taken.isForNow !== true) remote.remember(hash);
        if (taken.state === 'refused') throw refusal('remote-config/refused', taken.reason ?? 'it was refused');
      },
      clear: () => {},
      restored: false,
      // A patch that was taken is not taken again by the process that comes after a kill.
      isMovement: () => true,
      writes: () => 0,
    },
  };
}

function busy({ firmware, actuators }: RemoteConfigurationDeps, needs: 'reload' | 'restart'): string | undefined {
  if (firmware.status().state !== 'idle') return 'an update is under way: the configuration can be tried after it';
  if (needs === 'restart' && firmware.isInstalling)
    return 'something attached is being updated, and this change needs a restart: it can be tried after the update';
  if (needs === 'reload') return undefined;
  if (actuators.lockout.locked)
    return 'this change needs a restart, and the machine is locked out: it can be tried after the lockout';
  const timed = actuators.states().find(({ pulsing, sentence }) => pulsing || sentence?.values.leftMs !== undefined);
  return timed === undefined
    ? undefined
    : `${timed.name} follows a command with a time, and this change needs a restart: it can be tried after that time`;
}

function newestOf({ sampler }: RemoteConfigurationDeps): ReadonlyMap<string, number> {
  return new Map(
    sampler
      .states()
      .flatMap(({ name, readings }) =>
        readings.length === 0 ? [] : [[name, Math.max(...readings.map(({ monotonicMs }) => monotonicMs))] as const],
      ),
  );
}

function readingWithin(deps: RemoteConfigurationDeps, ms: number, changed: AgentConfig): readonly string[] {
  const sinceMs = deps.machine.clock.monotonicMs() - ms;
  const newest = newestOf(deps);
  return (
    changed.sensors
      // A sensor with a period about as long as the trial may have no reading within it.
      .filter(
        ({ name, enabled, periodMs }) => enabled && isDueWithin(ms, periodMs) && (newest.get(name) ?? -1) > sinceMs,
      )
      .map(({ name }) => name)
  );
}

function observe(deps: RemoteConfigurationDeps, sinceMs: number) {
  const { telemetry, actuators, link, polls, config, contact } = deps;
  const { upload, rpc, remoteConfiguration } = config();
  // Any answer of the platform stands for an upload where uploads are seldom.
  const isSeldom = 2 * upload.intervalMs >= remoteConfiguration.trialMs;
  // Polls that wait for their wakes count as standing: the trial does not wait for them.
  const stands = (kind: 'commands' | 'attributes'): boolean =>
    link.wakes(kind) !== undefined || polls[kind].hasStoodSince(sinceMs);
  return {
    acknowledgedAtMs: isSeldom ? contact.status.lastHeardAtMs : telemetry.uploader.state.lastAcknowledgedAtMs,
    standing: { commands: !rpc.enabled || stands('commands'), attributes: stands('attributes') },
    readAtMs: newestOf(deps),
    faulty: actuators.states().flatMap(({ name, fault }) => (fault === undefined ? [] : [{ name, fault }])),
  };
}

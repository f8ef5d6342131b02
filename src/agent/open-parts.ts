/**
 * Opens the agent's parts in order and connects them: each is given those before it. What it asks of a later one is a function that is called once
 * all are open, as readings and commands go both ways. The outputs get their start states at the same time, as a slow disk must not delay them.
 * When it fails, what is already open is closed by the end of the process.
 */
import { ownActuators } from '../actuators/own-actuators.ts';
import { boardAttributes } from '../attributes/device-attributes.ts';
import { keyUnits } from '../attributes/key-units.ts';
import { leaveInForce } from '../config/actuators-in-force.ts';
import type { ConfigFile } from '../config/config-file.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { openControlSockets } from '../control-socket/control-sockets.ts';
import { shownClaim } from '../devices/claim-device.ts';
import type { Device } from '../devices/device.ts';
import { setFormerQueueAside } from '../devices/former-queue.ts';
import { identityControl } from '../devices/identity-requests.ts';
import { leaveBoardOfAnother, openSelf } from '../devices/self.ts';
import { FirmwareUpdates } from '../firmware/firmware-updates.ts';
import { Bands } from '../history/bands.ts';
import type { AlertList } from '../host/alert-list.ts';
import type { Clock } from '../host/clock.ts';
import type { Environment } from '../host/environment.ts';
import { localTime } from '../host/local-time.ts';
import type { AgentLog } from '../host/log.ts';
import { randomId } from '../host/random.ts';
import { StateFolder } from '../host/state-folder.ts';
import type { Held } from '../host/state-lock.ts';
import type { TimeSync } from '../host/time-sync.ts';
import { type Link, openLink } from '../link/link.ts';
import { openLocalDoor } from '../operations/local-door.ts';
import { type OperationParts, operationsOf } from '../operations/operation-table.ts';
import { openOutbox } from '../outbox/open-outbox.ts';
import { KeptPlaces, type PatientOutbox, type TelemetryEntry } from '../outbox/outbox.ts';
import { StatusPublisher } from '../page-server/status-publisher.ts';
import { PlatformClients } from '../platform/platform-clients.ts';
import { externalFileSettings } from '../platform/platform-settings.ts';
import { createPollBeat } from '../platform/poll-beat.ts';
import { PollWatch } from '../remote-config/poll-watch.ts';
import type { RemoteConfig } from '../remote-config/remote-config.ts';
import { tellConfiguration, toldAttribute } from '../remote-config/tell-configuration.ts';
import { PartFinder } from '../scan/part-finder.ts';
import type { AgentStatus, ToldStatus } from '../status/shape/agent-status.ts';
import { sentSensors } from '../status/status-of.ts';
import { sentCells } from '../telemetry/entry-digest.ts';
import { TelemetryPath } from '../telemetry/telemetry-path.ts';
import { namedOutput } from '../timeline/named.ts';
import { timelineQueryOf } from '../timeline/query.ts';
import { tellersOf } from '../timeline/tellers.ts';
import type { Timeline } from '../timeline/timeline.ts';
import { watchAgent } from '../timeline/watch-agent.ts';
import type { JsonObject } from '../values/json.ts';
import { DeviceCommands } from './device-commands.ts';
import { DeviceSlots, idBeforeOpening } from './device-slots.ts';
import { HardwareParts } from './hardware-parts.ts';
import type { Machine } from './machine.ts';
import { operationsFor, sentBy } from './own-commands.ts';
import { openRemoteConfigurations } from './remote-configuration.ts';
import { slotCommands } from './slot-commands.ts';
import { SlotsControl } from './slots-control.ts';

export interface AgentParts {
  readonly stateFolder: StateFolder;
  readonly telemetry: TelemetryPath;
  readonly link: Link;
  /** Undefined where the configuration has no devices. */
  readonly slots?: DeviceSlots;
  readonly devices?: SlotsControl;
  readonly clients: PlatformClients;
  /** The gateway, first of its devices. */
  readonly self: Device;
  readonly hardware: HardwareParts;
  readonly firmware: FirmwareUpdates;
  readonly remoteConfiguration: RemoteConfig;
  /** The gateway's own. */
  readonly commands: DeviceCommands;
  /** Opens the control sockets; what they answer is made of all parts. @throws AgentError (stop). */
  readonly listen: () => Promise<Held>;
  readonly page: StatusPublisher;
}

export interface OpenPartsDeps {
  readonly file: ConfigFile;
  readonly machine: Machine;
  readonly environment: Environment;
  readonly log: AgentLog;
  readonly alerts: AlertList;
  readonly timeSync: TimeSync;
  readonly timeline: Timeline;
  /** Clock of the machine; the platform's dates replace its wall time while it is not synchronised. */
  readonly rightClock: Clock;
  readonly status: () => ToldStatus;
  readonly reload: () => Promise<JsonObject>;
  readonly restart: () => void;
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject>;
  /** Called with every durable entry: tests and the demo compare them with what the platform has. */
  readonly onDurable?: (entries: readonly TelemetryEntry[]) => void;
}

/** Leaves time to send the answer before the agent stops. */
const RESTART_AFTER_MS = 500;

/** @throws AgentError (stop) when another agent runs here, or a file cannot be used. */
export async function openParts(deps: OpenPartsDeps, signal: AbortSignal): Promise<AgentParts> {
  const { machine, log, alerts, timeSync, rightClock, status, diagnose, timeline } = deps;
  const { clock, files, randomBytes } = machine;
  const { live } = deps.file;
  const config = live.current;
  const current = (): AgentConfig => live.current;
  const { stateFolder: path, runFolder } = config;
  const stateFolder = await StateFolder.open({ path, runFolder, machine, alerts, onTaken: deps.restart });
  timeline.open(() => stateFolder.expectTaken());
  const { onRuleEvent, onAlarm, onAlarmAcknowledged, onCommand, onReported } = tellersOf(timeline.tell, current);
  await leaveInForce(config, deps.file.startedAsWritten, { files, clock, environment: deps.environment, log });
  // The outputs report their start states, under the ids of their slots, before these two are open.
  let slotsNow: DeviceSlots | undefined;
  const telemetryOpened = Promise.withResolvers<TelemetryPath>();
  const report = (entries: readonly TelemetryEntry[]): void =>
    void telemetryOpened.promise.then((opened) => opened.append(entries));
  const timeHere = () => (timeSync.isSynchronised() ? localTime(rightClock.wallMs()) : undefined);
  const hardwareOpening = HardwareParts.open(
    {
      config,
      machine: { ...machine, clock: rightClock },
      log,
      alerts,
      report,
      onRuleEvent,
      onSamples: (samples) => telemetry.take(samples),
      keyOf: (key) => telemetry.keyOf(key),
      localTime: timeHere,
      clientRpc: async (method, params, callSignal) => {
        await self.ready(callSignal);
        return await self.deviceApi.clientRpc(method, params, callSignal);
      },
      driverOf: (sensor) => deps.file.driverOf(sensor),
      reportSensor: (sensor, state, isFailing) => telemetry.reportSensor(sensor, state, isFailing),
      idOf: (slot) => slotsNow?.idOf(slot) ?? idBeforeOpening(config, slot),
    },
    signal,
  );
  // Awaited below; until then a failure must not count as unhandled.
  hardwareOpening.catch(() => {});
  const clients = new PlatformClients({
    config: current,
    machine,
    log,
    onPlatformDate: (ms, tookMs) => timeSync.heardPlatformDate(ms, tookMs),
  });
  const selfOpening = openSelf({
    config: current,
    machine,
    log,
    alerts,
    clients,
    // When the outbox is not open yet, the queue is moved away before it opens.
    onQueueOfAnother: () => telemetry.outbox.isOpen && deps.restart(),
    wakes: () => link.wakes('attributes'),
  });
  const linkDeps = { config: current, clock: rightClock, files, log, alerts, timeSync, traffic: () => clients.traffic };
  // Both at once: each may wait for a disk that hangs.
  const [self, link] = await Promise.all([selfOpening, openLink(linkDeps)]);
  const expectFolder = async (): Promise<void> => {
    await stateFolder.expectTaken();
    await leaveBoardOfAnother(self, { config: current, alerts });
    await setFormerQueueAside({ stateFolder: path, files, store: self.store, log });
  };
  const slots = await DeviceSlots.open(
    {
      machine,
      log,
      timeSync,
      rightClock,
      config: current,
      self,
      clients,
      expectFolder,
      presentMs: link.presentMs,
      telemetry: () => telemetry,
      link: link.uploads,
      onHeard: (slot) => hardware.actuators.control.contact.of(slot).heard(),
      beside: slotCommands({
        config: current,
        self,
        link,
        clock,
        files,
        log,
        alerts,
        onCommand,
        alarms: () => telemetry,
        hardware: () => hardware,
        firmware: () => firmware,
      }),
    },
    signal,
  );
  slotsNow = slots;
  const outboxes = (): Pick<PatientOutbox, 'read'>[] => [
    telemetry.outbox,
    ...(slots === undefined ? [] : [slots.outbox]),
  ];
  const place = { stateFolder: path, files, clock: rightClock, log, timeSync, expectFolder };
  const bands = config.status.page === 'off' ? undefined : new Bands({ ...place, outboxes }); // nobody but the page asks for it
  const telemetry: TelemetryPath = await TelemetryPath.open({
    config: current,
    clock: rightClock,
    files,
    log,
    deviceApi: self.deviceApi,
    clients,
    slots,
    onAlarm,
    onAlarmAcknowledged,
    localTime: timeHere,
    link: link.uploads,
    onDurable: (entries) => {
      bands?.take(entries);
      deps.onDurable?.(entries);
    },
    openOutbox: () => openOutbox({ ...place, config: config.outbox, presentMs: link.presentMs }, signal),
    onAcknowledged: () => hardware.actuators.control.contact.heard(),
    observe: (sensor, key, value) => hardware.actuators.rules.take(sensor, key, value),
  });
  clients.contact.onRestarted((lastHeardAtMs) => telemetry.platformRestarted(lastHeardAtMs));
  clients.contact.onChange(({ state }) => {
    if (state !== 'reached') telemetry.contactLost();
  });
  telemetryOpened.resolve(telemetry);
  const hardware: HardwareParts = await hardwareOpening;
  const firmware = await FirmwareUpdates.open({
    config,
    clock: rightClock,
    files,
    runProgram: machine.runProgram,
    log,
    alerts,
    self,
    newId: () => randomId(randomBytes),
    linkWaits: (bytes) => link.waitsFor(bytes),
    getUrl: async (url, { beginning, hosts }, urlSignal) => {
      const settings = await externalFileSettings(live.current.platform, files);
      return machine.openExternalFile(
        url,
        { ...settings, clock, onCarried: link.noteDownload, beginning, hosts },
        urlSignal,
      );
    },
    append: (entries) => telemetry.append(entries),
    uploaded: () => telemetry.uploader.state.lastAcknowledgedAtMs !== undefined,
    fault: () => (telemetry.outbox.status().fault === undefined ? undefined : 'the disk takes no entries'),
    restart: deps.restart,
    onReported,
    locked: () => hardware.actuators.lockout.locked,
    builtIn: (title) => remoteConfigurations.packages(title),
    holds: () => (remoteConfigurations.remote.isOn ? 'a configuration is on trial' : undefined),
  });
  const beats = createPollBeat(clock);
  const polls = { commands: new PollWatch(beats(), clock), attributes: new PollWatch(beats(), clock) };
  const remoteConfigurations = openRemoteConfigurations({
    file: deps.file,
    environment: deps.environment,
    config: current,
    machine,
    log,
    link,
    telemetry,
    sampler: hardware.sampler,
    actuators: hardware.actuators,
    firmware,
    contact: clients.contact,
    polls,
    onState: (state) => {
      tellConfiguration(state, { alerts, timeline });
      commands.configurationChanged();
    },
  });
  const kept = new KeptPlaces(() => [
    { name: 'gateway', outbox: telemetry.outbox },
    ...(slots === undefined ? [] : [{ name: 'attached devices', outbox: slots.outbox }]),
    ...(slots?.held.places ?? []).map(({ device, outbox }) => ({ name: device, outbox, isApart: true as const })),
  ]);
  const { actuators, sampler } = hardware;
  const own = ownActuators(actuators);
  const devices = new SlotsControl({
    slots,
    config: current,
    machine,
    log,
    board: self.board,
  });
  /** Parts of the operations at the device, which reach the outputs of all devices. */
  const operated: OperationParts = {
    status: {
      status,
      diagnose,
      shown: (sensors: AgentStatus['sensors']) => sentSensors(sensors, current().sensors),
    },
    sensors: {
      readNow: (name: string, either: AbortSignal) => sampler.readNow(name, either),
      asSent: sentBy(current),
    },
    parts: new PartFinder({
      ports: hardware.ports,
      clock,
      files,
      runProgram: machine.runProgram,
      openHostMetrics: machine.openHostMetrics,
      config: current,
      configFile: deps.file.path,
    }),
    alarms: telemetry,
    outbox: kept,
    deliveries: {
      sent: (range, either) => sentCells(telemetry.outbox, range, either),
      resend: (choice, either) => telemetry.outbox.resend(choice, either),
    },
    settings: { live, log },
    configurations: remoteConfigurations.operations,
    restarts: {
      restart: deps.restart,
      expectReboots: () => firmware.expectReboots(),
      reboot: () => firmware.reboot(),
    },
    actuators: actuators.control,
    credentials: self,
    identity: identityControl({
      store: self.store,
      place: self.place,
      board: self.board,
      stateFolder: path,
      clock,
      files,
      randomBytes,
      claim: (request, either) => self.claim(request, either),
      takeUp: () => void clock.after(RESTART_AFTER_MS, deps.restart),
    }),
    devices,
    firmware,
    timeline: (query) => timeline.select(timelineQueryOf(query)),
    local: {
      pageUrl: () => page.url,
      memory: () => ({ ...process.memoryUsage() }),
      reload: deps.reload,
      clientRpc: (method, params, either) => self.deviceApi.clientRpc(method, params, either),
    },
  };
  const door = {
    operations: operationsOf(operated),
    locked: () => actuators.lockout.locked,
    tell: timeline.tell,
    namedOutput: (name: string) => namedOutput(current(), name),
  };
  const methods = operationsFor({
    slot: undefined,
    config: current,
    actuators: own,
    sampler,
    parts: operated,
    runsOn: machine,
    tellsOn: { clock, ports: hardware.ports },
  });
  const units = keyUnits({ config: current, states: () => sampler.states(), log });
  const board = await boardAttributes(self.board, machine);
  const commands = await DeviceCommands.open(
    {
      config: current,
      slot: undefined,
      device: self,
      actuators: own,
      clock,
      files,
      log,
      alerts,
      live,
      methods,
      locked: () => actuators.lockout.locked,
      polls: { rpc: { beat: polls.commands.beat }, attributes: { beat: polls.attributes.beat } },
      others: () => (current().remoteConfiguration.enabled ? [remoteConfigurations.target] : []),
      wakes: link.wakes,
      firmware: firmware.offers,
      identity: () => ({
        ...board,
        configHash: deps.file.hash,
        ...(deps.file.fileHash !== undefined && { configFileHash: deps.file.fileHash }),
        ...toldAttribute(remoteConfigurations.remote.state),
        ...current().attributes.client,
        addresses: machine.networkAddresses(),
        ...units(),
      }),
      onCommand,
    },
    signal,
  );
  const page = new StatusPublisher({
    ...(slots === undefined ? {} : { slots: devices }),
    bands,
    config: live,
    machine,
    rightClock,
    log,
    status,
    telemetry,
    self,
    firmware,
    diagnose,
    timeline,
    operations: openLocalDoor('page', door),
    outputSettings: (name) => actuators.control.find(name)?.settings,
    claim: () =>
      shownClaim({
        stateFolder: path,
        clock,
        files,
        deviceName: self.name,
        hide: (secret) => log.hide(secret),
      }),
  });
  timeline.watch(
    watchAgent(
      { actuators, contact: clients.contact, timeSync, live, clock, link: () => link.status(), devices: devices.list },
      timeline.tell,
    ),
  );
  const listen = (): Promise<Held> => openControlSockets({ runFolder, machine, log, alerts, door }, signal);
  return {
    stateFolder,
    link,
    telemetry,
    clients,
    self,
    hardware,
    firmware,
    remoteConfiguration: remoteConfigurations.remote,
    commands,
    listen,
    page,
    slots,
    devices: slots && devices,
  };
}

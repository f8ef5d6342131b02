/** Answers to what may be asked of the agent at the device: whoever asks is given this type, and whoever answers is held to it. */

import type { ActuatorValue, Writer } from '../actuators/kind/actuator.ts';
import type { OutputReason } from '../actuators/output-reason.ts';
import type { OpenClaim } from '../devices/claim-device.ts';
import type { ArrivedDevice } from '../devices/move-device.ts';
import type { UpdaterStatus } from '../firmware/updater-status.ts';
import type { LogLevel } from '../host/log.ts';
import type { KeptRejected, KeptStatus, ResentRejected, ResolvedEntry } from '../outbox/outbox.ts';
import type { SensorSettings } from '../remote-config/sensor-settings.ts';
import type { ConfigurationsTold } from '../remote-config/told-configurations.ts';
import type { AgentStatus, SensorStatus } from '../status/shape/agent-status.ts';
import type { DeviceStatus } from '../status/shape/device-status.ts';
import type { SeenAlarm } from '../telemetry/acknowledgement.ts';
import type { SentCell } from '../telemetry/entry-digest.ts';
import type { TimelineAnswer } from '../timeline/query.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import type { ConfigurationAnswer } from './configuration-operations.ts';
import type { FoundParts } from './part-operations.ts';

export type OutputAnswer = {
  readonly name: string;
  /** Null while it is not known. */
  readonly value: ActuatorValue | null;
  readonly by: Writer | undefined;
  readonly pulsing: true | undefined;
  readonly fault: string | undefined;
  /** False where it was taken, and nothing proves that it moved. */
  readonly proven: false | undefined;
};

/** One value of a reading, as the agent and a driver both give it. */
export type ShownReading = Omit<SensorStatus['readings'][number], 'atMs'>;

export interface NamedDevice {
  readonly id: string;
  /** Name for people. */
  readonly name: string;
}

export interface Answers {
  readonly listMethods: JsonValue;
  readonly getStatus: AgentStatus;
  readonly diagnose: JsonObject;
  readonly statusPage: { readonly url: string | null };
  readonly memory: { readonly [part: string]: number };
  readonly setLogLevel: { readonly level: LogLevel };
  readonly reload: JsonObject;
  readonly timeline: TimelineAnswer;

  readonly setActuator: OutputAnswer;
  readonly releaseActuator: OutputAnswer;
  readonly getActuator: OutputAnswer & Omit<OutputReason, 'sentence'>;
  readonly pulse: OutputAnswer;
  readonly toggle: OutputAnswer;
  readonly readSensor: readonly ShownReading[];
  readonly findParts: FoundParts;
  readonly acknowledgeAlarm: readonly SeenAlarm[];

  readonly configure: ConfigurationAnswer;
  readonly configurationStatus: ConfigurationsTold;
  readonly sensorSettings: SensorSettings;

  readonly outboxStatus: KeptStatus;
  readonly outboxEntries: null;
  readonly keptRejected: KeptRejected;
  readonly resendRejected: ResentRejected;
  readonly readLedger: readonly SentCell[];
  readonly resend: number;

  readonly firmwareStatus: UpdaterStatus;
  readonly firmwareInbox: { readonly folder: string };
  readonly firmwareCheck: UpdaterStatus;
  readonly firmwareInstall: UpdaterStatus;
  readonly firmwareRollback: { readonly version: string };
  readonly restart: { readonly accepted: true };
  readonly reboot: { readonly accepted: true };

  readonly showIdentity: JsonObject;
  readonly claim: OpenClaim;
  readonly exportIdentity: { readonly text: string };
  readonly importIdentity: { readonly deviceName?: string; readonly setsQueueAside?: boolean };
  readonly adoptIdentity: JsonObject;
  readonly forgetIdentity: { readonly devices?: number };
  readonly setNextAccessToken: { readonly ready: true };
  readonly setProvisioningSecret: { readonly ready: true };
  readonly clientRpc: JsonValue;

  readonly listDevices: readonly DeviceStatus[];
  readonly showDevice: DeviceStatus;
  readonly claimDevice: OpenClaim;
  readonly rotateDeviceToken: NamedDevice;
  readonly renameDevice: NamedDevice;
  readonly removeDevice: NamedDevice & { readonly heldEntries: number; readonly isConfigured: boolean };
  readonly packDevice: NamedDevice & { readonly text: string };
  readonly leaveDevice: NamedDevice & Pick<DeviceStatus, 'heldEntries' | 'slots'>;
  readonly takeDevice: ArrivedDevice;
}

/** Events of those that are streams. */
export interface Events {
  readonly outboxEntries: readonly ResolvedEntry[] | Pick<KeptRejected, 'unread'>;
}

export type OperationName = keyof Answers;

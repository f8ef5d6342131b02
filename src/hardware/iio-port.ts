/** Sensors of the kernel's Industrial I/O: files as of any sensor of the kernel, and buffers that a trigger fills. */
import type { KernelDevice, KernelDevicePort } from './kernel-device-port.ts';

export interface CaptureSettings {
  /** Channels as the kernel spells them: `voltage0`, `accel_x`. */
  readonly channels: readonly string[];
  /** Name of a trigger of this machine; without it the device fills its buffer by itself. */
  readonly trigger?: string | undefined;
  /** Number of scans that wait to be read. */
  readonly length: number;
  /** Rate of scans; without it as it is set now. */
  readonly frequencyHz?: number | undefined;
}

/** Values of all channels at one time. */
export interface IioScan {
  /** Raw numbers by channel. */
  readonly raw: ReadonlyMap<string, number>;
  /** The kernel's stamp, ms since boot; undefined where the driver stamps nothing. */
  readonly monotonicMs?: number;
}

export interface IioCapture {
  /** Returns what has come since the last call, the oldest first, and whether the buffer was full: what came then is lost. */
  drain(signal: AbortSignal): Promise<{ readonly scans: readonly IioScan[]; readonly wasFull: boolean }>;
  /** Stops the buffer. Idempotent. */
  close(): Promise<void>;
}

export interface IioPort extends KernelDevicePort {
  /**
   * Fills the device's buffer from now on; nobody reads single values of it meanwhile.
   * @throws AgentError `hardware/iio-no-trigger`, `hardware/iio-no-channel`, `hardware/kernel-device-failed`, `hardware/kernel-device-gone`,
   * `hardware/no-permission`, `hardware/deadline` (all retry).
   */
  capture(device: KernelDevice, settings: CaptureSettings, signal: AbortSignal): Promise<IioCapture>;
}

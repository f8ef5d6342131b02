/** Sensors that a driver of the kernel reads: one folder of text files for each, below a class such as IIO or hwmon. */

export interface KernelDevice {
  /** Folder of the device, as the kernel resolves it: it leads to this device or, once that is gone, nowhere. */
  readonly folder: string;
  /** Kernel's number of it (`iio:device0`), which differs from boot to boot. */
  readonly number: string;
  /** Driver's name of the chip: `bme280`. */
  readonly name: string;
  /** Folder of the chip itself: the last part is `1-0076` on I2C, `spi0.1` on SPI. */
  readonly chipFolder: string;
  /** Names of its files, sorted. */
  readonly files: readonly string[];
}

export interface KernelDevicePort {
  /** Returns the devices in the order of their numbers; none where the kernel has no such class. */
  list(signal: AbortSignal): Promise<readonly KernelDevice[]>;
  /**
   * Text of one of its files, without the end of the line. Reading it makes most drivers speak to their chip; chips of one bus take turns.
   * @throws AgentError `hardware/kernel-device-gone`, `hardware/kernel-device-no-value`, `hardware/kernel-device-failed`,
   * `hardware/no-permission`, `hardware/deadline` (all retry).
   */
  read(device: KernelDevice, file: string, signal: AbortSignal): Promise<string>;
  /** Idempotent. */
  close(): Promise<void>;
}

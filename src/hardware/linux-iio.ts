/**
 * Industrial I/O through sysfs, and its buffers through `/dev/iio:deviceN`. A buffer is set up while it is off, with the device node open:
 * the kernel gives that to one program at a time, so that a buffer that is on then is what a crash left.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { retryable, systemCode } from '../errors/agent-error.ts';
import { once } from '../host/shared-work.ts';
import type { CaptureSettings, IioCapture, IioPort, IioScan } from './iio-port.ts';
import { decodeScans, type ScanElement, type ScanLayout, scanLayout, TIMESTAMP } from './iio-scans.ts';
import type { KernelDevice } from './kernel-device-port.ts';
import { deviceText, LinuxKernelDevices } from './linux-kernel-devices.ts';

export interface LinuxIioDeps {
  /** Normally /sys/bus/iio/devices. */
  readonly classFolder?: string;
  /** Normally /dev. */
  readonly deviceFolder?: string;
}

/** Folder of a buffer's settings. */
const BUFFER = 'buffer';
/** Errors of a service that may not do it, or of a user who may not. */
const FORBIDDEN: ReadonlySet<string> = new Set(['EROFS', 'EACCES', 'EPERM']);
const FORBIDDEN_TEXT =
  'a buffer is set up below /sys and read from /dev/iio:deviceN, which this service may not; its drop-in turnstone-iio.conf allows both (install.sh --with iio), single values need neither';

export class LinuxIio extends LinuxKernelDevices implements IioPort {
  readonly #classFolder: string;
  readonly #deviceFolder: string;
  readonly #captures = new Set<IioCapture>();

  constructor({ classFolder = '/sys/bus/iio/devices', deviceFolder = '/dev' }: LinuxIioDeps = {}) {
    super({ classFolder, prefix: 'iio:device', chipOf: async (folder) => dirname(folder) });
    this.#classFolder = classFolder;
    this.#deviceFolder = deviceFolder;
  }

  async capture(device: KernelDevice, settings: CaptureSettings, signal: AbortSignal): Promise<IioCapture> {
    const what = `buffer of ${deviceText(device)}`;
    const { node, layout } = await this.inTurn(device, what, () => this.#setUp(device, settings, what), signal);
    const stop = once(async () => {
      this.#captures.delete(capture);
      await writeFile(join(device.folder, `${BUFFER}/enable`), '0').catch(() => {});
      await node.close();
    });
    const room = Buffer.alloc(layout.scanBytes * settings.length);
    const capture: IioCapture = {
      drain: (drainSignal) =>
        this.inTurn(
          device,
          `reading the ${what}`,
          async () => {
            const scans = await drained(node, room, layout);
            return { scans, wasFull: scans.length >= settings.length };
          },
          drainSignal,
        ),
      close: stop,
    };
    this.#captures.add(capture);
    return capture;
  }

  override async close(): Promise<void> {
    await Promise.all([...this.#captures].map((capture) => capture.close()));
    await super.close();
  }

  async #setUp(
    device: KernelDevice,
    settings: CaptureSettings,
    what: string,
  ): Promise<{ readonly node: FileHandle; readonly layout: ScanLayout }> {
    const triggerFolder = await this.#triggerFolder(settings.trigger, what);
    let node: FileHandle | undefined;
    try {
      node = await open(join(this.#deviceFolder, device.number), constants.O_RDONLY | constants.O_NONBLOCK);
      const layout = await switchOn(device, settings, triggerFolder, what);
      return { node, layout };
    } catch (cause) {
      await node?.close();
      if (FORBIDDEN.has(systemCode(cause) ?? ''))
        throw retryable('hardware/no-permission', `${what}: ${FORBIDDEN_TEXT}`, cause);
      throw this.faultOf(what, cause);
    }
  }

  /** @throws AgentError `hardware/iio-no-trigger` (retry). */
  async #triggerFolder(wanted: string | undefined, what: string): Promise<string | undefined> {
    if (wanted === undefined) return undefined;
    const folders = (await readdir(this.#classFolder).catch(() => []))
      .filter((entry) => /^trigger\d+$/.test(entry))
      .map((entry) => join(this.#classFolder, entry));
    const named = await Promise.all(
      folders.map(async (folder) => ({ folder, name: await text(folder, 'name').catch(() => '') })),
    );
    const found = named.find(({ name }) => name === wanted);
    if (found !== undefined) return found.folder;
    const there = named.map(({ name }) => name).join(', ');
    throw retryable(
      'hardware/iio-no-trigger',
      `${what}: the kernel has no trigger ${wanted}; there is ${there === '' ? 'none' : there}`,
    );
  }
}

/** The order counts: the kernel takes no setting of a buffer that is on. */
async function switchOn(
  { folder, files }: KernelDevice,
  { channels, trigger, length, frequencyHz }: CaptureSettings,
  triggerFolder: string | undefined,
  what: string,
): Promise<ScanLayout> {
  const put = (file: string, value: string): Promise<void> => writeFile(join(folder, file), value);
  await put(`${BUFFER}/enable`, '0');
  const elementFiles = await readdir(join(folder, 'scan_elements'));
  const switches = elementFiles.flatMap((file) => /^in_(.+)_en$/.exec(file)?.[1] ?? []);
  const missing = channels.find((channel) => !switches.includes(channel));
  if (missing !== undefined)
    throw retryable(
      'hardware/iio-no-channel',
      `${what}: channel ${missing} cannot be buffered; there is ${switches.filter((one) => one !== TIMESTAMP).join(', ')}`,
    );
  const wanted = switches.filter((channel) => channels.includes(channel) || channel === TIMESTAMP);
  for (const channel of switches) await put(`scan_elements/in_${channel}_en`, wanted.includes(channel) ? '1' : '0');
  // Stamps are of the wall clock otherwise, which steps.
  if (files.includes('current_timestamp_clock')) await put('current_timestamp_clock', 'monotonic');
  if (trigger !== undefined) await put('trigger/current_trigger', trigger);
  if (frequencyHz !== undefined) {
    const own = triggerFolder === undefined ? [] : await readdir(triggerFolder);
    const place = own.includes('sampling_frequency') ? triggerFolder : folder;
    await writeFile(join(place ?? folder, 'sampling_frequency'), String(frequencyHz));
  }
  await put(`${BUFFER}/length`, String(length));
  const elements: ScanElement[] = [];
  for (const channel of wanted) {
    const index = Number(await text(folder, `scan_elements/in_${channel}_index`));
    elements.push({ channel, index, type: await text(folder, `scan_elements/in_${channel}_type`) });
  }
  const layout = scanLayout(elements);
  await put(`${BUFFER}/enable`, '1');
  return layout;
}

/** Reads without waiting until nothing is left, or as much as the buffer holds. */
async function drained(node: FileHandle, room: Buffer, layout: ScanLayout): Promise<readonly IioScan[]> {
  let filled = 0;
  while (filled < room.length) {
    const bytesRead = await readSome(node, room, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return decodeScans(room.subarray(0, filled), layout);
}

/** Returns 0 when nothing is there just now. */
async function readSome(node: FileHandle, room: Buffer, at: number): Promise<number> {
  try {
    return (await node.read(room, at, room.length - at, null)).bytesRead;
  } catch (cause) {
    if (systemCode(cause) === 'EAGAIN') return 0;
    throw cause;
  }
}

async function text(folder: string, file: string): Promise<string> {
  return (await readFile(join(folder, file), 'utf8')).trim();
}

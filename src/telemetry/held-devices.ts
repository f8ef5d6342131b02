/**
 * Places of attached devices that cannot have their entries now: an outbox for each, with an uploader of its own that judges what the platform
 * refuses (outbox/DEVICES.md). A place goes when it is empty.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { messageOf } from '../errors/agent-error.ts';
import { endedWithin, untilAborted } from '../host/bounded-wait.ts';
import type { Log } from '../host/log.ts';
import { keepRunning } from '../host/loops.ts';
import type { HostMachine } from '../host/machine.ts';
import { readWhole } from '../host/whole-file.ts';
import type { EntryColumns, OutboxStatus, PatientOutbox } from '../outbox/outbox.ts';
import type { UploadAnswer } from '../platform/device-api.ts';
import { removeTreeDurably, writeDurably } from '../store/durable-file.ts';
import { isJsonObject, parseJson } from '../values/json.ts';
import { RefusedKeys } from './answers/refused-keys.ts';
import { Uploader, type UploaderDeps, type UploadSettings } from './uploader.ts';

export interface HeldDevicesDeps extends Pick<HostMachine, 'clock' | 'files'> {
  /** Folder with a folder for each device. */
  readonly folder: string;
  readonly log: Log;
  /** Opens an outbox within a folder. Never rejects. */
  readonly openOutbox: (folder: string) => Promise<PatientOutbox>;
  readonly post: (device: string, rows: EntryColumns, signal: AbortSignal) => Promise<UploadAnswer>;
  readonly settings: () => UploadSettings;
  readonly link: UploaderDeps['link'];
}

interface HeldPlace {
  readonly folder: string;
  readonly outbox: PatientOutbox;
  readonly uploader: Uploader;
  ended: AbortController;
  /** Reason for which it was opened, in words; undefined for one of an earlier run. */
  readonly why: string | undefined;
  running: Promise<void>;
}

interface FoundPlace {
  readonly why?: string | undefined;
  /** An earlier run left it. */
  readonly isThere?: boolean;
}

/** A place stays so long after its last delivery. */
const ENDS_AFTER_MS = 60_000;
/** A place that is empty then is not only empty for the moment. */
const LOOK_EVERY_MS = 5_000;
const NAME_FILE = 'device.json';
const CLOSE_WITHIN_MS = 5_000;

export class HeldDevices {
  readonly #deps: HeldDevicesDeps;
  readonly #places = new Map<string, HeldPlace>();
  /** Places that are being opened. */
  readonly #opening = new Map<string, Promise<HeldPlace>>();
  /** Places that are being removed: a new one waits for it. */
  readonly #ending = new Map<string, Promise<void>>();
  /** Entries that were lost in places that are gone. */
  #lostBefore = 0;
  /** Known of all devices: those of one kind have the same keys. */
  readonly #refusedKeys = new RefusedKeys();
  #signal: AbortSignal | undefined;

  constructor(deps: HeldDevicesDeps) {
    this.#deps = deps;
  }

  /** Opens the places that an earlier run left. A folder that cannot be read is left as it is, and told. @throws the disk's fault. */
  async open(): Promise<void> {
    const { files, folder, log } = this.#deps;
    await files.makeFolder(folder);
    for (const name of await files.list(folder)) {
      const device = await readDevice(this.#deps, join(folder, name)).catch((error: unknown) => {
        log.error({ folder: join(folder, name), error: messageOf(error) }, 'a place of held entries cannot be read');
        return undefined;
      });
      if (device !== undefined && !this.isHeld(device)) await this.#open(device, { isThere: true });
    }
  }

  isHeld(device: string): boolean {
    return this.#places.has(device) || this.#opening.has(device);
  }

  /** Devices that have a place, with the counts of their outboxes. */
  list(): readonly {
    readonly device: string;
    readonly outbox: OutboxStatus;
    readonly uploader: Uploader['state'];
    readonly why?: string;
  }[] {
    return [...this.#places].map(([device, { outbox, uploader, why }]) => ({
      device,
      outbox: outbox.status(),
      uploader: uploader.state,
      ...(why === undefined ? {} : { why }),
    }));
  }

  /** Devices that have a place, each with its outbox. */
  get places(): readonly { readonly device: string; readonly outbox: PatientOutbox }[] {
    return [...this.#places].map(([device, { outbox }]) => ({ device, outbox }));
  }

  /** Entries that were thinned or dropped for want of room, since start. */
  get lostEntries(): number {
    return [...this.#places.values()].reduce((sum, { outbox }) => sum + lostIn(outbox), this.#lostBefore);
  }

  /** Resolves when the rows are durable in the device's place, with the times they have. @throws the signal's reason, the disk's fault. */
  async move(device: string, rows: EntryColumns, why: string | undefined, signal: AbortSignal): Promise<void> {
    const { outbox } = this.#places.get(device) ?? (await this.#open(device, { why }));
    const appended = outbox.appendAgain(rows);
    // The window of all others waits for it.
    void outbox.flush().catch(() => {});
    await untilAborted(appended, signal);
  }

  /** Sends what is held until the signal aborts, and ends places that are empty. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const [device, place] of this.#places) this.#start(device, place, signal);
    while (!signal.aborted) {
      await this.#deps.clock.sleep(LOOK_EVERY_MS, signal);
      if (signal.aborted) break;
      for (const [device, place] of [...this.#places]) if (this.#isOver(place)) await this.#end(device, place);
    }
    await Promise.all([...this.#places.values()].map(({ running }) => running));
  }

  /** Has what waits of a device tried at once: its token is another one. */
  retry(device: string): void {
    const place = this.#places.get(device);
    if (place === undefined || this.#signal === undefined) return;
    place.ended.abort();
    place.ended = new AbortController();
    this.#start(device, place, this.#signal);
  }

  /** The platform has restarted: what it acknowledged since then, monotonic ms, goes once more. */
  resendRecent(sinceMs: number): void {
    for (const { outbox } of this.#places.values()) outbox.resendRecent(sinceMs);
  }

  /** The platform is not reached: what it acknowledged lately is written, too. */
  keepRecord(): void {
    for (const { outbox } of this.#places.values()) outbox.keepRecord();
  }

  /** Removes a device's place with what it holds. @throws the disk's fault. */
  async discard(device: string): Promise<void> {
    const place = this.#places.get(device);
    if (place === undefined) return;
    await this.#close(device, place);
    await removeTreeDurably(this.#deps.files, place.folder);
  }

  /** Ends all outboxes; what they hold stays. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([...this.#places].map(([device, place]) => this.#close(device, place)));
  }

  /** Empty, and for so long that a platform which forgets has been noticed. */
  #isOver({ outbox, uploader }: HeldPlace): boolean {
    const { lastAcknowledgedAtMs = Number.NEGATIVE_INFINITY } = uploader.state;
    return isEmpty(outbox) && this.#deps.clock.monotonicMs() - lastAcknowledgedAtMs >= ENDS_AFTER_MS;
  }

  #open(device: string, found: FoundPlace): Promise<HeldPlace> {
    const known = this.#opening.get(device);
    if (known !== undefined) return known;
    const opening = this.#make(device, found).finally(() => this.#opening.delete(device));
    this.#opening.set(device, opening);
    return opening;
  }

  async #make(device: string, { why, isThere = false }: FoundPlace): Promise<HeldPlace> {
    const { files, clock, log, openOutbox, post, settings, link } = this.#deps;
    const folder = join(this.#deps.folder, placeName(device));
    await this.#ending.get(device)?.catch(() => {});
    if (!isThere) await files.makeFolder(folder);
    if (!isThere) await writeDurably(files, join(folder, NAME_FILE), `${JSON.stringify({ device })}\n`);
    const outbox = await openOutbox(folder);
    const postTelemetry = (rows: EntryColumns, signal: AbortSignal): Promise<UploadAnswer> =>
      post(device, rows, signal);
    const uploader = new Uploader({
      outbox,
      postTelemetry,
      clock,
      log,
      settings,
      link,
      refusedKeys: this.#refusedKeys,
    });
    const place: HeldPlace = {
      folder,
      outbox,
      uploader,
      ended: new AbortController(),
      why,
      running: Promise.resolve(),
    };
    this.#places.set(device, place);
    if (why !== undefined) log.warn({ device, why }, 'entries of this device are held apart, and tried there');
    if (this.#signal !== undefined) this.#start(device, place, this.#signal);
    return place;
  }

  #start(device: string, place: HeldPlace, signal: AbortSignal): void {
    const { clock, log } = this.#deps;
    const either = AbortSignal.any([signal, place.ended.signal]);
    const before = place.running;
    const run = async (own: AbortSignal): Promise<void> => {
      await before;
      await place.uploader.run(own);
    };
    place.running = keepRunning({ clock, log, name: `uploads of ${device}`, run }, either);
  }

  /** The next rows of the device are tried with the others' again. Entries that the platform refused for good stay in the folder. */
  async #end(device: string, place: HeldPlace): Promise<void> {
    const { files, log } = this.#deps;
    // At once: what is moved from now on gets a place of its own, once this one is gone.
    this.#places.delete(device);
    const ending = (async () => {
      const rejected = await place.outbox.rejected();
      await this.#close(device, place);
      if (rejected.length === 0) await removeTreeDurably(files, place.folder);
    })();
    this.#ending.set(device, ending);
    await ending.catch((error: unknown) =>
      log.warn({ device, error: messageOf(error) }, 'an empty place cannot be removed'),
    );
    this.#ending.delete(device);
    log.info({ device }, 'what was held of this device is delivered');
  }

  async #close(device: string, place: HeldPlace): Promise<void> {
    this.#places.delete(device);
    this.#lostBefore += lostIn(place.outbox);
    place.ended.abort();
    await endedWithin(this.#deps.clock, CLOSE_WITHIN_MS, place.running);
    await place.outbox.close();
  }
}

/** Folder name of a device: any device has one, and no two the same. */
export function placeName(device: string): string {
  return createHash('sha256').update(device).digest('hex').slice(0, 24);
}

function lostIn(outbox: PatientOutbox): number {
  const { thinned, dropped } = outbox.status();
  return thinned + dropped;
}

function isEmpty(outbox: PatientOutbox): boolean {
  return outbox.isOpen && outbox.status().heldEntries === 0 && (outbox.deadLetters?.size ?? 0) === 0;
}

/** Returns the device whose place a folder is; undefined of a folder that is none. @throws the disk's fault. */
export async function readDevice(
  { files }: Pick<HeldDevicesDeps, 'files'>,
  folder: string,
): Promise<string | undefined> {
  const content = parseJson((await readWhole(files, join(folder, NAME_FILE)))?.toString('utf8') ?? 'null');
  return isJsonObject(content) && typeof content.device === 'string' ? content.device : undefined;
}

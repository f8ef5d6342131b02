/** The needs of a download, and where it goes. */
import type { FirmwareConfig } from '../config/schema/agent-config.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { FileBeginning, FirmwareBody } from '../platform/device-api.ts';
import type { DownloadLimits } from './download-schedule.ts';
import type { FirmwareOffer } from './firmware-offer.ts';
import type { UpdateFiles } from './update-files.ts';

/** Fetches `fw_url`, or the rest of it: https only, bounded redirects, no token. */
export type GetUrl = (url: string, beginning: FileBeginning | undefined, signal: AbortSignal) => Promise<FirmwareBody>;

export interface DownloadDeps {
  readonly files: UpdateFiles;
  readonly clock: Clock;
  readonly log: Log;
  /** `maxSizeBytes` is below 2^31: the server's chunk index times chunk size is a signed 32-bit number (src/platform/wire-facts.md, "Firmware"). */
  readonly settings: DownloadLimits & Pick<FirmwareConfig, 'chunkBytes' | 'maxSizeBytes'>;
  /** Endpoint 10; `sizeBytes` 0 asks for the whole file. */
  readonly getChunk: (chunk: number, sizeBytes: number, signal: AbortSignal) => Promise<FirmwareBody>;
  readonly getUrl: GetUrl;
  /** Returns why so many bytes have to wait for the link, in words; undefined when they may come now. */
  readonly linkWaits?: ((bytes: number) => string | undefined) | undefined;
  /** The platform refuses the file: whether it offers another by now is read again, and one that is withdrawn aborts the signal. */
  readonly readOffer: (signal: AbortSignal) => Promise<void>;
  readonly onProgress?: (receivedBytes: number) => void;
  /** Told why the download does not go on, in words; undefined when it does. */
  readonly onWaits?: (reason: string | undefined) => void;
}

export interface DownloadTarget {
  readonly offer: FirmwareOffer;
  readonly partPath: string;
  readonly progressPath: string;
}

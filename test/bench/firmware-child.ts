/**
 * The downloading half of bench:firmware, a process of its own, so that it can be killed and its memory is nobody else's.
 *
 *   firmware-child.ts bare URL FILE                         undici to a file, the yardstick
 *   firmware-child.ts image URL TOKEN FOLDER OFFER KEYS LOG download, checksum and signature, as the agent does it, in a warm process
 *   firmware-child.ts cold …                                the same at once, to be killed
 *
 * Prints one line of JSON. LOG gets a line with the offset of every request.
 */
import { appendFileSync, createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { request } from 'undici';
import { ImageDownload } from '../../src/firmware/download-image.ts';
import type { FirmwareOffer } from '../../src/firmware/firmware-offer.ts';
import { expectAnnounced, expectSigned, sumsOf } from '../../src/firmware/verify-image.ts';
import { systemClock } from '../../src/host/clock.ts';
import { silentLog } from '../../src/host/log.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import { systemUpdateFiles } from '../support/system-update-files.ts';

const SAMPLE_EVERY_MS = 10;
const CHUNK_BYTES = 1_000_000;
const WARM_UP_CHUNKS = 20;
const never = new AbortController().signal;
const [what, ...words] = process.argv.slice(2);

async function bare(url: string, file: string): Promise<void> {
  const warm = await request(url.replace(/size=\d+/, 'size=1000'));
  await warm.body.dump();
  const startedMs = performance.now();
  const { body } = await request(url);
  await pipeline(body, createWriteStream(file));
  console.log(JSON.stringify({ ms: performance.now() - startedMs }));
}

async function image([url, token, folder, offerText, keys, log]: [
  string,
  string,
  string,
  string,
  string,
  string,
]): Promise<void> {
  const offer = JSON.parse(offerText) as FirmwareOffer;
  const api = new HttpDeviceApi({ settings: { url }, token: () => token, clock: systemClock });
  const { title, version } = offer;
  if (what === 'image') await warmUp(api, offer, join(folder, 'warm-up'));
  globalThis.gc?.();
  const memory = new PeakMemory();
  const startedMs = performance.now();
  const target = { offer, partPath: join(folder, 'image'), progressPath: join(folder, 'image.progress') };
  const downloaded = await ImageDownload.run(
    {
      files: systemUpdateFiles,
      clock: systemClock,
      log: silentLog,
      settings: { chunkBytes: CHUNK_BYTES, maxSizeBytes: 512_000_000, downloadDeadlineMs: 3_600_000 },
      getChunk: (chunk, sizeBytes, signal) => {
        appendFileSync(log, `${chunk * sizeBytes}\n`);
        return api.getFirmware({ title, version, sizeBytes, chunk }, signal);
      },
      readOffer: async () => {},
      getUrl: () => Promise.reject(new Error('no file lies elsewhere')),
    },
    target,
    never,
  );
  const verify = { files: systemUpdateFiles, log: silentLog, config: { trustedKeys: keys, requireSignature: true } };
  const file = await systemUpdateFiles.openPlain(target.partPath);
  const sums = await sumsOf(file, offer.algorithm, downloaded, never);
  expectAnnounced(sums, offer, silentLog);
  await expectSigned(file, verify, sums);
  await file.close();
  console.log(JSON.stringify({ ms: performance.now() - startedMs, extraMb: memory.end() }));
  await api.close();
}

/**
 * An agent that has run for a while has its threads, its compiled code and the pages of its first collections: 15 MB that a process takes
 * once, whatever it does, and not for the download.
 */
async function warmUp(api: HttpDeviceApi, { title, version }: FirmwareOffer, file: string): Promise<void> {
  const part = await systemUpdateFiles.openPart(file, 0o600);
  for (let chunk = 0; chunk < WARM_UP_CHUNKS; chunk += 1) {
    const body = await api.getFirmware({ title, version, sizeBytes: CHUNK_BYTES, chunk }, never);
    let at = chunk * CHUNK_BYTES;
    for await (const piece of body.stream) {
      await part.write(piece, at);
      at += piece.length;
    }
  }
  await part.close();
}

/** How far private memory rises above where it stood. Pages of the runtime's own file are everybody's and do not count (proc(5), RssAnon). */
class PeakMemory {
  readonly #beforeKb = privateKb();
  readonly #timer: NodeJS.Timeout;
  #peakKb = 0;

  constructor() {
    this.#timer = setInterval(() => this.#sample(), SAMPLE_EVERY_MS);
  }

  end(): number {
    clearInterval(this.#timer);
    this.#sample();
    return (this.#peakKb - this.#beforeKb) / 1024;
  }

  #sample(): void {
    this.#peakKb = Math.max(this.#peakKb, privateKb());
  }
}

function privateKb(): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}

if (what === 'bare') await bare(words[0] ?? '', words[1] ?? '');
else await image(words as [string, string, string, string, string, string]);

/**
 * Boards' first boots as one process, over real files and real HTTP, that a test can kill anywhere, and all of them with it:
 * `provisioning-board-child.ts URL FOLDER SERIAL[=STEP]…`. It prints `ready` and waits for a line on stdin, so that a kill meets provisioning and
 * not the start of Node. Then each board tells, after its serial number: `at …` for each step and each touch of a file, so that a kill can fall
 * by what was done and not by time; and last `done` once a reading was taken by the platform, or `alert: …`. With a STEP it stands still there
 * and says `stopped`: from then on nothing of it reaches the disk or the platform, until the process is killed.
 */
import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { GATEWAY_WORDS } from '../../src/devices/credential-words.ts';
import { CredentialsStore } from '../../src/devices/credentials-store.ts';
import { obtainCredentials } from '../../src/devices/obtain-credentials.ts';
import { tokenWorks } from '../../src/devices/token-check.ts';
import { systemClock } from '../../src/host/clock.ts';
import { type OpenFile, type OpenMode, type OpenOptions, systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { systemRandomBytes } from '../../src/host/random.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import { requestProvisioning } from '../../src/platform/provision-request.ts';
import { Mortality } from '../simulation/mortal.ts';
import { rowsOf } from './telemetry-rows.ts';

/** Between the starts of two boards: a kill meets each at another place. */
const APART_MS = 2;
const [url = '', folder = '', ...boards] = process.argv.slice(2);
const { signal } = new AbortController();
const clock = systemClock;
const settings = { url, requestTimeoutMs: 5_000 };

// A process that is killed would keep nothing of what it compiled.
flushCompileCache();
process.stdout.write('ready\n');
await once(process.stdin, 'data');
await Promise.all(
  boards.map(async (board, index) => {
    const [serial = '', stopAt] = board.split('=');
    await delay(index * APART_MS);
    await boot(serial, stopAt);
  }),
);
process.exit(0);

async function boot(serial: string, stopAt: string | undefined): Promise<void> {
  const stateFolder = join(folder, serial);
  const life = new Mortality();
  let writes = 0;
  const say = (line: string): void => void process.stdout.write(`${serial} ${line}\n`);
  const stop = (): void => {
    life.kill();
    say('stopped');
  };
  const reach = (step: string): void => {
    say(`at ${step}`);
    if (step === stopAt) stop();
  };
  /** Each write of the two files has three places to die: with half a temporary file, before the rename, and after it. */
  const openMortal = async (path: string, mode: OpenMode, options?: OpenOptions): Promise<OpenFile> => {
    const file = await systemFiles.open(path, mode, options);
    if (mode !== 'replace') return file;
    writes += 1;
    const write = async (bytes: Uint8Array, position: number): Promise<void> => {
      say(`at write-${writes}`);
      const half = stopAt === `write-${writes}-half`;
      await file.write(half ? bytes.subarray(0, bytes.length / 2) : bytes, position);
      if (!half && stopAt !== `write-${writes}-not-renamed`) return;
      await file.datasync();
      stop();
    };
    return {
      read: file.read.bind(file),
      write,
      datasync: () => file.datasync(),
      size: () => file.size(),
      truncate: file.truncate.bind(file),
      close: () => file.close(),
    };
  };
  const renameMortal = async (from: string, to: string): Promise<void> => {
    await systemFiles.rename(from, to);
    await systemFiles.syncFolder(stateFolder);
    reach(`write-${writes}-renamed`);
  };
  const alerts = { raise: (_name: string, message: string) => say(`alert: ${message}`), clear: () => {} };
  const store = await CredentialsStore.open({
    stateFolder,
    clock,
    log: silentLog,
    alerts,
    hide: () => {},
    files: life.bind({ ...systemFiles, open: openMortal, rename: renameMortal }),
  });
  const open = (accessToken: string): HttpDeviceApi => new HttpDeviceApi({ settings, clock, token: () => accessToken });
  const { token } = await obtainCredentials(
    {
      store,
      words: GATEWAY_WORDS,
      settings: {
        provisioning: {
          deviceName: 'gateway-{serial}',
          secret: { deviceKey: 'key', deviceSecret: 'secret' },
          onUnauthorised: 'hold',
        },
      },
      provision: life.guard((request, requestSignal) =>
        requestProvisioning(request, { settings, clock }, requestSignal),
      ),
      tokenWorks: life.guard((accessToken, probeSignal) => tokenWorks(open, accessToken, probeSignal)),
      clock,
      randomBytes: systemRandomBytes,
      log: silentLog,
      alerts,
      hide: () => {},
      board: { serial, hostname: 'board' },
      onStep: reach,
    },
    signal,
  );
  const deviceApi = open(token.accessToken);
  const post = life.guard(() => deviceApi.postTelemetry(rowsOf({ ts: clock.wallMs(), values: { boots: 1 } }), signal));
  const answer = await post();
  say(answer.kind === 'accepted' ? 'done' : `refused: ${JSON.stringify(answer)}`);
  await deviceApi.close();
}

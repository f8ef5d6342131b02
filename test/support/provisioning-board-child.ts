/**
 * A board's first boot as a process of its own, over real files and real HTTP, that a test can kill anywhere:
 * `provisioning-board-child.ts URL STATE-FOLDER SERIAL [STEP]`. It prints `ready` and waits for a line on stdin, so that a kill meets provisioning
 * and not the start of Node; `at …` for each step and each touch of a file, so that a kill can fall by what was done and not by time; then
 * `done` once a reading was taken by the platform, or `alert: …`. With a STEP it kills itself there.
 */
import { once } from 'node:events';
import { systemClock } from '../../src/host/clock.ts';
import { type OpenFile, type OpenMode, type OpenOptions, systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { systemRandomBytes } from '../../src/host/random.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import { provisionDevice } from '../../src/platform/provision-device.ts';
import { CredentialsStore } from '../../src/provisioning/credentials-store.ts';
import { obtainCredentials } from '../../src/provisioning/obtain-credentials.ts';
import { tokenWorks } from '../../src/provisioning/token-check.ts';
import { rowsOf } from './telemetry-rows.ts';

const [url = '', stateFolder = '', serial = '', killAt = ''] = process.argv.slice(2);
const signal = new AbortController().signal;
const clock = systemClock;
const settings = { url, requestTimeoutMs: 5_000 };
const alerts = {
  raise: (_name: string, message: string) => void process.stdout.write(`alert: ${message}\n`),
  clear: () => {},
};

process.stdout.write('ready\n');
await once(process.stdin, 'data');
let writes = 0;
const store = await CredentialsStore.open({
  stateFolder,
  clock,
  log: silentLog,
  alerts,
  hide: () => {},
  files: { ...systemFiles, open: mortalOpen, rename: mortalRename },
});
const open_ = (accessToken: string): HttpDeviceApi => new HttpDeviceApi({ settings, clock, token: () => accessToken });
const { token } = await obtainCredentials(
  {
    store,
    settings: {
      provisioning: { deviceName: 'gateway-{serial}', secret: { deviceKey: 'key', deviceSecret: 'secret' }, onUnauthorised: 'hold' },
    },
    provision: (request, requestSignal) => provisionDevice(request, { settings, clock }, requestSignal),
    tokenWorks: (accessToken, probeSignal) => tokenWorks(open_, accessToken, probeSignal),
    clock,
    randomBytes: systemRandomBytes,
    log: silentLog,
    alerts,
    hide: () => {},
    board: { serial, hostname: 'board' },
    onStep: dieAt,
  },
  signal,
);
const deviceApi = open_(token.accessToken);
const answer = await deviceApi.postTelemetry(rowsOf({ ts: clock.wallMs(), values: { boots: 1 } }), signal);
process.stdout.write(answer.kind === 'accepted' ? 'done\n' : `refused: ${JSON.stringify(answer)}\n`);
await deviceApi.close();
process.exit(0);

function dieAt(step: string): void {
  process.stdout.write(`at ${step}\n`);
  if (step === killAt) process.kill(process.pid, 'SIGKILL');
}

/** Each write of the two files has three places to die: with half a temporary file, before the rename, and after it. */
async function mortalOpen(path: string, mode: OpenMode, options?: OpenOptions): Promise<OpenFile> {
  const file = await systemFiles.open(path, mode, options);
  if (mode !== 'replace') return file;
  writes += 1;
  const write = async (bytes: Uint8Array, position: number): Promise<void> => {
    process.stdout.write(`at write-${writes}\n`);
    const half = killAt === `write-${writes}-half`;
    await file.write(half ? bytes.subarray(0, bytes.length / 2) : bytes, position);
    if (half || killAt === `write-${writes}-not-renamed`) {
      await file.datasync();
      process.kill(process.pid, 'SIGKILL');
    }
  };
  return {
    read: file.read.bind(file),
    write,
    datasync: () => file.datasync(),
    size: () => file.size(),
    truncate: file.truncate.bind(file),
    close: () => file.close(),
  };
}

async function mortalRename(from: string, to: string): Promise<void> {
  await systemFiles.rename(from, to);
  await systemFiles.syncFolder(stateFolder);
  dieAt(`write-${writes}-renamed`);
}

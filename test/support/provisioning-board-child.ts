/**
 * A board's first boot as a process of its own, over real files and real HTTP, that a test can kill anywhere:
 * `provisioning-board-child.ts URL STATE-FOLDER SERIAL [STEP]`. It prints `ready` and waits for a line on stdin, so that a kill meets provisioning
 * and not the start of Node; then `done` once a reading was taken by the platform, or `alert: …`. With a STEP it kills itself there.
 */
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { systemClock } from '../../src/host/clock.ts';
import { writeDurably } from '../../src/host/durable-file.ts';
import { silentLog } from '../../src/host/log.ts';
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
const store = await CredentialsStore.open({ stateFolder, log: silentLog, alerts, hide: () => {}, write: mortalWrite });
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
  if (step === killAt) process.kill(process.pid, 'SIGKILL');
}

/** Each write of the two files has three places to die: with half a temporary file, before the rename, and after it. */
async function mortalWrite(path: string, content: string): Promise<void> {
  writes += 1;
  if (killAt === `write-${writes}-half` || killAt === `write-${writes}-not-renamed`) {
    const file = await open(`${path}.tmp`, 'w', 0o600);
    await file.writeFile(killAt.endsWith('half') ? content.slice(0, content.length / 2) : content);
    await file.sync();
    process.kill(process.pid, 'SIGKILL');
  }
  await writeDurably(path, content);
  dieAt(`write-${writes}-renamed`);
}

/** What every device of a gateway holds to, the gateway itself and one beside it: over a virtual clock, disk and platform. */
import { beforeEach, describe, expect, it } from 'vitest';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { Device } from '../../../src/devices/device.ts';
import { slotCredentials } from '../../../src/devices/device-settings.ts';
import { openSelf, permissionBeside } from '../../../src/devices/self.ts';
import { AlertList } from '../../../src/host/alert-list.ts';
import { AgentLog } from '../../../src/host/log.ts';
import { keepRunning } from '../../../src/host/loops.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { FakePlatform } from '../../support/device-slots-bench.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';

const BOARD = { serial: 'board-1', hostname: 'roof' };
const ROWS = rowsOf({ ts: 1_700_000_000_000, values: { temperature: 21 } });
const never = new AbortController().signal;
let clock: FakeClock;
let files: MemoryFiles;
let platform: FakePlatform;
let stop: AbortController;

beforeEach(() => {
  clock = new FakeClock();
  files = new MemoryFiles();
  platform = new FakePlatform();
  stop = new AbortController();
});

const config = () =>
  configSchema.parse({
    version: 1,
    platform: { url: 'http://platform' },
    stateFolder: '/state',
    provisioning: { deviceName: 'roof', deviceKey: 'key', deviceSecret: 'right' },
    devices: [{ name: 'meter' }],
  });

const log = new AgentLog({ clock: new FakeClock(), level: 'error', sink: { write: () => {} } });

function runUntilStop(device: Device): void {
  void keepRunning({ clock, log, name: device.id, run: (signal) => device.run(signal) }, stop.signal);
}

async function startSelf(): Promise<Device> {
  await files.makeFolder('/state');
  const self = await openSelf({
    config,
    machine: { clock, files, randomBytes: systemRandomBytes, readIdentity: async () => BOARD },
    log,
    alerts: new AlertList(log),
    clients: { equip: async () => {}, ofSelf: platform },
    onQueueOfAnother: () => {},
  });
  runUntilStop(self);
  return self;
}

async function startBeside(): Promise<Device> {
  const self = await startSelf();
  const folder = '/state/devices/known/meter';
  await files.makeFolder(folder);
  const [slot] = config().devices;
  const settings = {
    id: 'meter',
    name: 'meter',
    folder,
    credentials: () => slotCredentials(config(), { slot, name: 'meter', store: self.store }),
  };
  const permission = permissionBeside(self);
  const device = new Device(
    { clock, files, randomBytes: systemRandomBytes, log, board: BOARD, way: platform, permission: () => permission },
    settings,
  );
  runUntilStop(device);
  return device;
}

describe.each([
  { what: 'the gateway', name: 'roof', start: startSelf, key: 'provisioning.deviceKey' },
  { what: 'a device beside it', name: 'meter', start: startBeside, key: 'its entry of devices:' },
])('$what', ({ name, start, key }) => {
  const startAgain = async (): Promise<Device> => {
    stop.abort();
    stop = new AbortController();
    clock.reboot({ bootId: `boot-${clock.wallMs()}` });
    const device = await start();
    await clock.advance(1_000);
    return device;
  };

  const provisioned = async (): Promise<Device> => {
    const device = await start();
    await clock.advance(1_000);
    return device;
  };

  it('has itself provisioned once, and goes on with what it was given', async () => {
    const device = await provisioned();
    expect([device.name, device.state, device.isConnected]).toEqual([name, 'ready', true]);
    expect(await device.deviceApi.postTelemetry(ROWS, never)).toEqual({ kind: 'accepted' });
    const asked = platform.asked.length;
    const again = await startAgain();
    expect(again.token.accessToken).toBe(device.token.accessToken);
    expect([platform.asked.length, again.isConnected]).toEqual([asked, true]);
  });

  it('sends nothing without credentials, and says in its own words what is missing', async () => {
    platform.secret = 'another';
    const device = await provisioned();
    expect([device.state, device.isConnected]).toEqual(['blocked', false]);
    expect(device.reason).toContain(key);
    expect(await device.deviceApi.postTelemetry(ROWS, never)).toMatchObject({ kind: 'unauthorised', status: 0 });
    await expect(device.claim({}, never)).rejects.toMatchObject({
      code: 'provisioning/no-credentials',
      message: expect.stringContaining(key),
    });
    platform.secret = 'right';
    await clock.advance(7_200_000);
    expect([device.state, device.reason]).toEqual(['ready', undefined]);
  });

  it('is blocked while the platform refuses its token, and sends again as soon as it is taken', async () => {
    const device = await provisioned();
    const token = platform.tokens.get(name) ?? '';
    platform.tokens.delete(name);
    expect(await device.deviceApi.postTelemetry(ROWS, never)).toMatchObject({ kind: 'unauthorised', status: 401 });
    expect([device.state, device.reason]).toEqual(['blocked', 'the platform refuses its token (status 401)']);
    platform.tokens.set(name, token);
    expect(await device.deviceApi.postTelemetry(ROWS, never)).toEqual({ kind: 'accepted' });
    expect([device.state, device.acceptedEntries]).toEqual(['ready', 1]);
  });

  it('changes over to its next token when the platform does, in the request that is refused', async () => {
    const device = await provisioned();
    expect(await device.enterToken('the-next-token')).toBe(false);
    expect(await device.deviceApi.postTelemetry(ROWS, never)).toEqual({ kind: 'accepted' });
    platform.tokens.set(name, 'the-next-token');
    expect(await device.deviceApi.postTelemetry(ROWS, never)).toEqual({ kind: 'accepted' });
    expect(device.token.accessToken).toBe('the-next-token');
    await clock.advance(1_000);
    expect((await startAgain()).token.accessToken).toBe('the-next-token');
  });

  it('takes no next token that cannot be one, with credentials and without', async () => {
    const bad = { code: 'provisioning/bad-token', recovery: 'drop' };
    platform.secret = 'another';
    const blocked = await provisioned();
    await expect(blocked.enterToken('two words')).rejects.toMatchObject(bad);
    expect((await startAgain()).state).toBe('blocked');
    platform.secret = 'right';
    const ready = await startAgain();
    await clock.advance(7_200_000);
    expect(ready.state).toBe('ready');
    await expect(ready.enterToken('two words')).rejects.toMatchObject(bad);
  });

  it('keeps a rotation through a restart before the platform has changed over', async () => {
    const device = await provisioned();
    await device.enterToken('the-next-token');
    const again = await startAgain();
    platform.tokens.set(name, 'the-next-token');
    expect(await again.deviceApi.postTelemetry(ROWS, never)).toEqual({ kind: 'accepted' });
  });

  it('knows its name without a platform, sends nothing, and goes on by itself', async () => {
    await provisioned();
    platform.isAway = true;
    const device = await startAgain();
    expect([device.name, device.state, device.isConnected]).toEqual([name, 'ready', false]);
    expect(await device.deviceApi.postTelemetry(ROWS, never)).toMatchObject({ kind: 'unauthorised', status: 0 });
    platform.isAway = false;
    await clock.advance(60_000);
    expect(await device.deviceApi.postTelemetry(ROWS, never)).toEqual({ kind: 'accepted' });
  });

  it('is provisioned anew at the start after it was forgotten', async () => {
    const device = await provisioned();
    const before = device.token.accessToken;
    await device.store.forget({ setsQueueAside: false });
    expect(device.token.accessToken).toBe(before);
    platform.tokens.delete(name);
    const again = await startAgain();
    expect([again.state, again.token.accessToken === before]).toEqual(['ready', false]);
    expect(platform.tokens.get(name)).toBe(again.token.accessToken);
  });

  it('opens one claim under its name, which a second request shows again', async () => {
    const device = await provisioned();
    const open = await device.claim({ durationMs: 600_000 }, never);
    expect(open).toMatchObject({ deviceName: name, alreadyOpen: false });
    const { secretKey } = open;
    expect(await device.claim({}, never)).toMatchObject({ secretKey, alreadyOpen: true });
    expect(files.paths).toContain(`${device.folder}/claim.json`);
  });
});

/** From a box to a claimed device, as a technician does it: the real agent and the real commands, the example file, a platform. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlatformDevice } from '../../src/stand-ins/local-platform/device-registry.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { RestPerson } from '../support/rest-person.ts';

const EXAMPLE = join(import.meta.dirname, '../../config/provisioning.example.yaml');
const SECRETS = {
  deviceKey: 'profile-key-4711',
  deviceSecret: 'profile-secret-0815',
  passphrase: 'correct horse battery',
  rotated: 'rotated-token-1234',
  byRpc: 'token-by-rpc-5678',
};
const PATIENCE = { timeout: 30_000, interval: 100 };

let platform: LocalPlatform;
let config: string;
const boards: AgentProcess[] = [];

beforeAll(async () => {
  platform = await LocalPlatform.start();
  platform.state.registry.profiles.put({
    ...platform.state.registry.defaultProfile,
    id: crypto.randomUUID(),
    name: 'gateways',
    isDefault: false,
    provisionType: 'ALLOW_CREATE_NEW_DEVICES',
    provisionDeviceKey: SECRETS.deviceKey,
    provisionDeviceSecret: SECRETS.deviceSecret,
  });
  // The three values of the example that a technician enters.
  config = (await readFile(EXAMPLE, 'utf8'))
    .replace('https://iot.example.org', platform.url)
    .replace('the-device-profiles-provision-key', SECRETS.deviceKey)
    .replace('the-device-profiles-provision-secret', SECRETS.deviceSecret)
    .replace('period: 10s', 'period: 1s');
});

afterAll(async () => {
  for (const board of boards) await board.remove();
  await platform.close();
});

async function board(serial: string): Promise<AgentProcess> {
  // The test's machine need not have its clock synchronised.
  const made = await AgentProcess.make(`${config}\ntime: { trust: always }\n`, serial);
  boards.push(made);
  return made;
}

const deviceOf = (name: string): PlatformDevice | undefined => platform.state.registry.byName(name);

function points(name: string): number {
  const device = deviceOf(name);
  if (device === undefined) return 0;
  return platform.state.telemetry
    .keys(device.id)
    .reduce(
      (sum, key) => sum + [...platform.state.telemetry.series(device.id, key).scan(0, Number.MAX_SAFE_INTEGER)].length,
      0,
    );
}

/** More readings than before arrive. */
async function keepsArriving(name: string): Promise<void> {
  const before = points(name);
  await expect.poll(() => points(name), PATIENCE).toBeGreaterThan(before);
}

async function claimAs(username: string, password: string, name: string, secretKey: string): Promise<unknown> {
  const login = await fetch(`${platform.url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  });
  const { token } = (await login.json()) as { token: string };
  const answer = await fetch(`${platform.url}/api/customer/device/${name}/claim`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-authorization': `Bearer ${token}` },
    body: JSON.stringify({ secretKey }),
  });
  const said = (await answer.json()) as string | { readonly response: string };
  return typeof said === 'string' ? said : said.response;
}

describe('a gateway out of the box', () => {
  let gateway: AgentProcess;
  let firstToken = 'none yet';

  it('provisions itself from the example file and uploads, without a token ever typed', async () => {
    gateway = await board('SN-100');
    gateway.start();
    await expect.poll(() => points('gateway-SN-100'), PATIENCE).toBeGreaterThan(0);
    expect(platform.state.registry.devices.all.map(({ name }) => name)).toEqual(['gateway-SN-100']);
  });

  it('is claimed with the secret that the command shows, as text and as a QR code', async () => {
    const { exitCode, out } = await gateway.command(['claim', '--duration', '10m']);
    expect(exitCode).toBe(0);
    expect(out).toContain('gateway-SN-100');
    expect(out).toMatch(/[█▀▄]{20}/);
    const secret = /secret\s+(\S+)/.exec(out)?.[1] ?? '';
    expect(await claimAs('customer@thingsboard.org', 'customer', 'gateway-SN-100', 'a guess')).toBe('FAILURE');
    // The guess has shut the claim; asked again, the command opens the same one.
    expect((await gateway.command(['claim'])).out).toContain(secret);
    expect(await claimAs('customer@thingsboard.org', 'customer', 'gateway-SN-100', secret)).toBe('SUCCESS');
  });

  it('says who it is, and no secret', async () => {
    const { out } = await gateway.command(['identity', 'show', '--json']);
    expect(JSON.parse(out)).toMatchObject({
      board: { serial: 'SN-100' },
      credentials: { phase: 'in-use', source: 'provisioned', deviceName: 'gateway-SN-100' },
    });
    expect(out).not.toContain(deviceOf('gateway-SN-100')?.accessToken);
  });

  it('changes over to another token without losing a reading', async () => {
    const before = deviceOf('gateway-SN-100') as PlatformDevice;
    firstToken = before.accessToken;
    const tokenFile = join(gateway.folder, 'next-token');
    await writeFile(tokenFile, SECRETS.rotated, { mode: 0o600 });
    expect((await gateway.command(['identity', 'rotate-token', '--token-file', tokenFile])).exitCode).toBe(0);
    await keepsArriving('gateway-SN-100');
    platform.state.registry.devices.put({
      ...(deviceOf('gateway-SN-100') as PlatformDevice),
      accessToken: SECRETS.rotated,
    });
    await keepsArriving('gateway-SN-100');
    await expect
      .poll(() => readFile(join(gateway.folder, 'state/credentials.json'), 'utf8'), PATIENCE)
      .not.toContain(before.accessToken);
    // Every second has its reading: nothing was lost on the way.
    const device = deviceOf('gateway-SN-100') as PlatformDevice;
    const times = [...platform.state.telemetry.series(device.id, 'cpuPercent').scan(0, Number.MAX_SAFE_INTEGER)].map(
      ({ ts }) => ts,
    );
    const gaps = times.slice(1).map((ts, index) => ts - (times[index] as number));
    expect(Math.max(...gaps)).toBeLessThan(3_000);
  });

  it('changes over to a third one that came by RPC', async () => {
    const device = deviceOf('gateway-SN-100') as PlatformDevice;
    const person = await RestPerson.logIn(platform.url);
    const answer = await person.rpc(device.id, 'setNextAccessToken', { accessToken: SECRETS.byRpc });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { result: { ready: true } }]);
    platform.state.registry.devices.put({
      ...(deviceOf('gateway-SN-100') as PlatformDevice),
      accessToken: SECRETS.byRpc,
    });
    await keepsArriving('gateway-SN-100');
    const refused = await person.rpc(device.id, 'setNextAccessToken', { accessToken: `${SECRETS.byRpc} with spaces` });
    expect(refused.text).not.toContain(SECRETS.byRpc);
  });

  it('hands its place to another board, and stands back when it returns', async () => {
    const passphraseFile = join(gateway.folder, 'passphrase');
    const file = join(gateway.folder, 'gateway.identity');
    await writeFile(passphraseFile, SECRETS.passphrase, { mode: 0o600 });
    expect((await gateway.command(['identity', 'export', file, '--passphrase-file', passphraseFile])).exitCode).toBe(0);
    await gateway.stop();

    const fresh = await board('SN-200');
    const imported = await fresh.command(['identity', 'import', file, '--passphrase-file', passphraseFile]);
    expect(imported).toMatchObject({ exitCode: 0, out: expect.stringContaining('gateway-SN-100') });
    fresh.start();
    await keepsArriving('gateway-SN-100');

    gateway.start();
    await expect.poll(() => gateway.log, PATIENCE).toContain('this device was moved to another board');
    const { out } = await gateway.command(['status']);
    expect(out.replace(/\s+/g, ' ')).toContain('moved to another board');
    await keepsArriving('gateway-SN-100');
    expect(platform.state.registry.devices.all).toHaveLength(1);
  });

  it('keeps its secrets to itself when things go wrong', async () => {
    const file = join(gateway.folder, 'gateway.identity');
    const wrong = join(gateway.folder, 'wrong-passphrase');
    await writeFile(wrong, 'not the passphrase\n');
    expect(
      (await gateway.command(['identity', 'import', file, '--passphrase-file', wrong, '--replace'])).exitCode,
    ).toBe(1);
    // A start that fails, a crash, a wrong configuration with the secret in the wrong place, a platform that is gone.
    await gateway.stop('SIGKILL');
    const good = await readFile(gateway.configFile, 'utf8');
    await writeFile(
      gateway.configFile,
      good.replace(`deviceSecret: ${SECRETS.deviceSecret}`, `deviceSecrett: [${SECRETS.deviceSecret}]`),
    );
    expect((await gateway.command(['run'])).exitCode).toBe(78);
    await writeFile(gateway.configFile, good);
    await platform.goAway();
    const runs = (): number => gateway.log.split('"msg":"the agent runs"').length;
    const before = runs();
    gateway.start();
    // A command that came before it had the state folder would take that itself.
    await expect.poll(runs, PATIENCE).toBe(before + 1);
    expect((await gateway.command(['claim'])).exitCode).toBe(1);
    const pid = gateway.pid;
    const words = await readFile(`/proc/${pid}/cmdline`, 'latin1');
    for (const secret of Object.values(SECRETS)) expect(words).not.toContain(secret);
  });

  it('left none of its secrets in any log, and on disk only where they belong', async () => {
    for (const one of boards) await one.stop();
    const token = deviceOf('gateway-SN-100')?.accessToken ?? '';
    const secrets = [...Object.values(SECRETS), token, firstToken];
    for (const one of boards) {
      for (const secret of secrets) expect(one.log + one.printed).not.toContain(secret);
      const allowed = /^(turnstone\.yaml|next-token|passphrase|state\/credentials(\.backup)?\.json)$/;
      const files = await readdir(one.folder, { recursive: true, withFileTypes: true });
      for (const found of files.filter((entry) => entry.isFile())) {
        const path = join(found.parentPath, found.name);
        const name = path.slice(one.folder.length + 1);
        if (allowed.test(name)) continue;
        const content = await readFile(path, 'latin1');
        for (const secret of secrets) expect(content.includes(secret), `${secret} in ${name}`).toBe(false);
      }
    }
  });
});

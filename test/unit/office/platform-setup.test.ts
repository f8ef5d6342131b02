/** platform-setup against the local platform: a fresh one, one that is set up, one that a person has changed, and one that fails in the middle. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { requestProvisioning } from '../../../src/platform/provision-request.ts';
import type { LibraryItem } from '../../../src/stand-ins/local-platform/library-item.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { fakeEdge } from '../../support/fake-edge.ts';
import { due, PROFILE, setupBench } from '../../support/platform-setup-bench.ts';

function widgetTitles(dashboard: LibraryItem | undefined): readonly string[] {
  const { widgets } = (dashboard?.body.configuration ?? {}) as {
    readonly widgets?: Record<string, { config: { title: string } }>;
  };
  return Object.values(widgets ?? {}).map(({ config }) => config.title);
}

describe('a fresh platform', () => {
  it('gets profile, rules, dashboards and customer, and a second run finds nothing to do', async () => {
    const { state, json, profile } = await setupBench();
    const first = await json('--customer', 'Farm');
    expect(first.steps.map(({ what }) => what)).toEqual([
      ...['dashboard', 'dashboard', 'device profile'],
      ...['alarm rule', 'alarm rule', 'alarm rule', 'alarm rule', 'customer', 'dashboards for'],
    ]);
    expect(first.steps.every(({ verdict, isDone }) => verdict === 'make' && isDone)).toBe(true);
    expect(profile()).toMatchObject({
      provisionType: 'ALLOW_CREATE_NEW_DEVICES',
      provisionDeviceKey: first.provisioning?.deviceKey,
    });
    expect(first.provisioning?.deviceSecret).toMatch(/^[A-Za-z0-9]{20}$/);
    const shown = state.dashboards.all.map(({ body }) => body.assignedCustomers);
    expect(shown).toEqual(Array.from({ length: 2 }, () => [expect.objectContaining({ title: 'Farm' })]));
    const changes = [state.dashboards, state.customers, state.calculatedFields, state.registry.profiles].map(
      (table) => table.changes,
    );
    const second = await json('--customer', 'Farm');
    expect(due(second)).toEqual([]);
    expect(second.provisioning).toBeUndefined();
    expect(
      [state.dashboards, state.customers, state.calculatedFields, state.registry.profiles].map(
        (table) => table.changes,
      ),
    ).toEqual(changes);
  });

  it('keeps attached devices in a profile of their own, apart from the gateways', async () => {
    const { platform, state, folder, run, json, profile } = await setupBench();
    const config = join(folder, 'devices.yaml');
    const lines = [
      'version: 1',
      'platform: { url: "https://iot.example.org" }',
      'provisioning: { deviceKey: k, deviceSecret: s }',
      'devices: [{ name: m1 }, { name: m2 }]',
      'sensors: [{ name: a, kind: host, device: m1 }, { name: b, kind: host, device: m2 }]',
    ];
    await writeFile(config, lines.join('\n'), { mode: 0o600 });
    const file = join(folder, 'provisioning.yaml');
    expect((await run(['--yes', '--config', config, '--write', file])).exitCode).toBe(EXIT.ok);
    const { provisioning } = parse(await readFile(file, 'utf8')) as {
      provisioning: { deviceKey: string; devices: { key: string; secret: string } };
    };
    expect(provisioning.devices.key).not.toBe(provisioning.deviceKey);
    const answer = await requestProvisioning(
      {
        deviceName: 'gw-1 m1',
        provisionDeviceKey: provisioning.devices.key,
        provisionDeviceSecret: provisioning.devices.secret,
      },
      { settings: { url: platform.url }, clock: systemClock },
      new AbortController().signal,
    );
    expect(answer).toMatchObject({ status: 'SUCCESS' });
    expect(state.registry.byName('gw-1 m1')).toMatchObject({ type: `${PROFILE} devices` });
    expect(state.registry.byName('gw-1 m1')?.profileId).not.toBe(profile()?.id);
    // A second run keeps both; without devices there is no second profile to keep.
    expect(due(await json('--config', config))).toEqual([]);
    expect((await json()).steps.filter(({ what }) => what === 'device profile')).toHaveLength(1);
  });

  it('lets a gateway make itself known with the section that is written', async () => {
    const { platform, state, folder, run, profile } = await setupBench();
    const file = join(folder, 'provisioning.yaml');
    const { exitCode, out } = await run(['--yes', '--write', file]);
    expect(exitCode).toBe(EXIT.ok);
    const { provisioning } = parse(await readFile(file, 'utf8')) as {
      provisioning: { deviceKey: string; deviceSecret: string };
    };
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(out).not.toContain(provisioning.deviceSecret);
    const ask = {
      deviceName: 'gw-1',
      provisionDeviceKey: provisioning.deviceKey,
      provisionDeviceSecret: provisioning.deviceSecret,
    };
    const answer = await requestProvisioning(
      ask,
      { settings: { url: platform.url }, clock: systemClock },
      new AbortController().signal,
    );
    expect(answer).toMatchObject({ status: 'SUCCESS' });
    expect(state.registry.byName('gw-1')).toMatchObject({ profileId: profile()?.id, type: PROFILE });
  });

  it('shows the plan, asks, and does nothing without a yes', async () => {
    const { state, run } = await setupBench();
    const refused = await run([], { answers: ['tenant', 'n'] });
    expect(refused).toMatchObject({
      exitCode: EXIT.failure,
      err: 'turnstone: nothing was done; run it again, and answer y\n',
    });
    expect(refused.asked).toEqual(['Password of tenant@thingsboard.org: ', 'Carry out 7 steps? [y/N] ']);
    expect(refused.out).toMatch(/^make {2}dashboard {7}Turnstone gateway\n/);
    expect(state.dashboards.all).toEqual([]);
    const agreed = await run([], { answers: ['tenant', 'y'] });
    expect(agreed.out).toContain('made device profile Turnstone gateway\n');
    expect(agreed.out).toContain('the secret is shown once:\n\nprovisioning:\n  deviceKey: "');
    expect(state.dashboards.all.length).toBe(2);
  });

  it('is left alone by --dry-run', async () => {
    const { state, run, profile } = await setupBench();
    expect((await run(['--dry-run'])).out).toMatch(/nothing was done: this is the plan\n$/);
    expect([state.dashboards.all.length, profile()]).toEqual([0, undefined]);
  });
});

describe('what people have done', () => {
  it('stays: a description, a rule chain, and a key of the profile', async () => {
    const { state, json, profile } = await setupBench();
    const { provisioning } = await json();
    const mine = {
      ...profile(),
      more: { ...profile()?.more, description: 'my own' },
      provisionType: 'DISABLED',
    } as never;
    state.registry.profiles.put(mine);
    const again = await json();
    expect(due(again)).toEqual([PROFILE]);
    expect(profile()).toMatchObject({
      provisionType: 'ALLOW_CREATE_NEW_DEVICES',
      provisionDeviceKey: provisioning?.deviceKey,
    });
    expect(profile()?.more).toMatchObject({ description: 'my own' });
    expect(again.provisioning).toBeUndefined();
  });

  it('stays: a dashboard that somebody has changed', async () => {
    const { state, json } = await setupBench();
    await json();
    const [first] = state.dashboards.all;
    if (first === undefined) throw new Error('no dashboard');
    const configuration = { ...(first.body.configuration as JsonObject), filters: { mine: 1 } };
    state.dashboards.put({ ...first, body: { ...first.body, configuration } });
    const { steps } = await json();
    expect(steps[0]).toMatchObject({
      verdict: 'keep',
      why: 'somebody has changed it; delete or rename it to get a new one',
    });
    expect(state.dashboards.byId(first.id)?.body.configuration).toMatchObject({ filters: { mine: 1 } });
  });

  it('stays: a profile that takes only known devices; one with another transport is refused', async () => {
    const { state, json, run, profile } = await setupBench();
    await json();
    state.registry.profiles.put({ ...profile(), provisionType: 'CHECK_PRE_PROVISIONED_DEVICES' } as never);
    expect((await json()).steps[2]).toMatchObject({
      verdict: 'keep',
      why: 'it takes only devices that somebody has made beforehand',
    });
    state.registry.profiles.put({ ...profile(), more: { ...profile()?.more, transportType: 'LWM2M' } } as never);
    const { exitCode, err } = await run(['--yes']);
    expect({ exitCode, err }).toEqual({
      exitCode: EXIT.failure,
      err: `turnstone: the profile "${PROFILE}" has the transport LWM2M; choose another name with --profile\n`,
    });
  });
});

it('takes up the keys that gateways have sent: a chart for their unit, and a rule for each state and alarm', async () => {
  const { state, json, profile } = await setupBench();
  await json();
  const device = { ...state.registry.draft({ name: 'gw', profileId: profile()?.id ?? '' }, 1) };
  state.registry.devices.put(device);
  state.saveTelemetry(device, {
    ts: 1,
    values: { 'cellar.temperature': 4, temperature_alarm: 'ok', roof_state: 'ok', fw_state: 'UPDATED' },
  });
  expect(due(await json())).toEqual([`${PROFILE}: sensors`, 'Sensor fails: roof', 'Alarm: temperature']);
  expect(widgetTitles(state.dashboards.all[1])).toEqual(['Devices', 'In °C']);
  expect(due(await json())).toEqual([]);
});

it('takes sensors, units and alarms of a configuration before any gateway has sent something', async () => {
  const { state, folder, json } = await setupBench();
  const config = join(folder, 'turnstone.yaml');
  const sensor =
    '{ name: attic, kind: bme280, bus: 1, keys: { temperature: { label: Under the roof, alarms: [{ above: 40 }] } } }';
  await writeFile(
    config,
    `version: 1\nplatform: { url: "https://iot.example.org", accessToken: "abc" }\nsensors: [${sensor}]\n`,
  );
  const { steps } = await json('--config', config);
  expect(steps.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['Sensor fails: attic', 'Alarm: Under the roof']),
  );
  expect(JSON.stringify(state.dashboards.all[1]?.body)).toContain('"In hPa"');
  for (const label of ['Under the roof', 'Pressure'])
    expect(JSON.stringify(state.dashboards.all[1]?.body)).toContain(`"label":"${label}"`);
});

describe('an alarm rule', () => {
  const written = (label: string | undefined): string => {
    const named = label === undefined ? '' : `label: ${label}, `;
    const sensor = `{ name: attic, kind: bme280, bus: 1, keys: { temperature: { ${named}alarms: [{ above: 40 }] } } }`;
    return `version: 1\nplatform: { url: "https://iot.example.org", accessToken: "abc" }\nsensors: [${sensor}]\n`;
  };

  async function ruleBench() {
    const { state, folder, json } = await setupBench();
    const config = join(folder, 'turnstone.yaml');
    return {
      names: () =>
        state.calculatedFields.all.map(({ body }) => String(body.name)).filter((name) => /^Alarm|^My/.test(name)),
      change: (from: string, to: JsonObject) => {
        const found = state.calculatedFields.all.find(({ body }) => body.name === from);
        if (found !== undefined) state.calculatedFields.put({ ...found, body: { ...found.body, ...to } });
      },
      run: async (label: string | undefined) => {
        await writeFile(config, written(label));
        return due(await json('--config', config)).filter((name) => name.startsWith('Alarm'));
      },
      runWithout: async () => due(await json()).filter((name) => name.startsWith('Alarm')),
    };
  }

  it('that was made before its key had a label gets its name, and is not doubled; another label renames it', async () => {
    const { names, run, runWithout } = await ruleBench();
    expect(await run(undefined)).toEqual(['Alarm: temperature']);
    for (const label of ['Under the roof', 'Attic']) {
      expect(await run(label)).toEqual([`Alarm: ${label}`]);
      expect(names()).toEqual([`Alarm: ${label}`]);
      expect(await run(label)).toEqual([]);
    }
    // Neither of these knows the label.
    expect([await runWithout(), await run(undefined), names()]).toEqual([[], [], ['Alarm: Attic']]);
  });

  it('that a person has changed or renamed stays as it is', async () => {
    const { names, change, run } = await ruleBench();
    await run(undefined);
    change('Alarm: temperature', { configuration: { type: 'ALARM', changed: true } });
    expect([await run('Attic'), names()]).toEqual([[], ['Alarm: temperature']]);
    const other = await ruleBench();
    await other.run('Attic');
    other.change('Alarm: Attic', { name: 'My attic' });
    expect([await other.run('Attic'), other.names().sort()]).toEqual([['Alarm: Attic'], ['Alarm: Attic', 'My attic']]);
  });
});

describe('a release', () => {
  it('is uploaded once and assigned, and its version keeps its file', async () => {
    const { state, json, run, profile, image } = await setupBench();
    const release = await image('one');
    await json('--release', release, '--assign');
    const [made] = state.packages.all;
    expect(made).toMatchObject({
      title: 'turnstone',
      version: '1.2.0',
      checksumAlgorithm: 'SHA256',
      deviceProfileId: profile()?.id,
    });
    expect(profile()?.firmwareId).toBe(made?.id);
    expect(due(await json('--release', release, '--assign'))).toEqual([]);
    await image('another');
    const { exitCode, err } = await run(['--yes', '--release', release]);
    expect({ exitCode, err }).toEqual({
      exitCode: EXIT.failure,
      err: 'turnstone: the platform has another file as turnstone 1.2.0; a package cannot be changed: delete it there, or give a release with another version\n',
    });
  });

  it('that stopped half-way is sent whole by the next run', async () => {
    const { platform, state, run, json, image } = await setupBench();
    const release = await image('one');
    const isUpload = (method: string, path: string): boolean =>
      method === 'POST' && path.startsWith('/api/otaPackage/');
    platform.faults.plant({ kind: 'answer', status: 500 }, { matches: isUpload });
    const { exitCode, err } = await run(['--yes', '--release', release]);
    expect(exitCode).toBe(EXIT.failure);
    expect(err).toMatch(
      /^turnstone: package turnstone 1\.2\.0 \(.+\): \/api\/otaPackage\/\{id\} was answered with 500; 7 steps are done; run the command again/,
    );
    expect(state.packages.all[0]?.file).toBeUndefined();
    const { steps } = await json('--release', release, '--assign');
    expect(steps.at(-2)).toMatchObject({ verdict: 'change', why: 'its file was never sent whole', isDone: true });
    expect(state.packages.all.length).toBe(1);
    expect(state.packages.all[0]?.file).toBeDefined();
  });

  it('that is none is refused before anybody logs in', async () => {
    const { run, folder } = await setupBench();
    await writeFile(join(folder, 'x'), 'no archive');
    expect((await run(['--yes', '--release', join(folder, 'x')])).err).toMatch(
      /is no release: .*; give a turnstone-….tar.zst \(firmware\/bad-archive\)\n$/,
    );
    expect(await run(['--yes', '--assign'])).toMatchObject({
      exitCode: EXIT.usage,
      err: 'turnstone: --assign needs a package; give --release too\n',
    });
  });
});

describe('who may not', () => {
  it('is told so: a wrong password', async () => {
    const { run } = await setupBench();
    const { exitCode, err } = await run(['--yes'], { password: 'wrong-password-4711' });
    expect({ exitCode, err }).toEqual({
      exitCode: EXIT.failure,
      err: 'turnstone: the login was refused: Invalid username or password (platform/unauthorised)\n',
    });
  });

  it('is told so: a user of a customer', async () => {
    const { run } = await setupBench();
    const { err } = await run(['--yes'], { user: 'customer', password: 'customer' });
    expect(err).toBe('turnstone: this user is no tenant administrator, but CUSTOMER_USER; log in as one with --user\n');
  });

  it('is told so: where nobody can be asked', async () => {
    const { run } = await setupBench();
    expect(await run([])).toMatchObject({
      exitCode: EXIT.usage,
      err: 'turnstone: nobody can be asked here; say --yes, or --dry-run\n',
    });
  });
});

it('says that somebody else was faster, and goes on at the next run', async () => {
  const { platform, run, json } = await setupBench();
  const isProfile = (method: string, path: string): boolean => method === 'POST' && path === '/api/deviceProfile';
  platform.faults.plant({ kind: 'answer', status: 409 }, { matches: isProfile });
  const { err } = await run(['--yes']);
  expect(err).toBe(
    `turnstone: device profile ${PROFILE}: somebody else has changed /api/deviceProfile meanwhile; 2 steps are done; run the command again, it goes on there (platform/refused)\n`,
  );
  expect(due(await json())[0]).toBe(PROFILE);
});

describe('the address', () => {
  it.each(['iot.example.org', 'http://somebody:secret@localhost'])('is refused as typed: %s', async (url) => {
    const edge = fakeEdge();
    const words = ['platform-setup', '--url', url, '--user', 'tenant@thingsboard.org', '--dry-run'];
    expect(await runCommandLine(words, { edge, version: () => '1' })).toBe(EXIT.usage);
    expect(edge.err()).toContain('without user and password');
  });
});

it('ends with 130 when it is interrupted while it waits for the platform, and says what was done', async () => {
  const [{ folder }, edge] = [await setupBench(), fakeEdge()];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    edge.stop();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  await writeFile(join(folder, 'password'), 'tenant');
  const login = ['--user', 'a@example.org', '--password-file', join(folder, 'password'), '--dry-run'];
  const words = ['platform-setup', '--url', `http://127.0.0.1:${port}`, ...login];
  expect(await runCommandLine(words, { edge, version: () => '1' })).toBe(EXIT.interrupted);
  expect(edge.err()).toContain('interrupted: nothing was done');
});

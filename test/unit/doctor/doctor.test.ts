import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tokenWorks } from '../../../src/devices/token-check.ts';
import { CHECKS } from '../../../src/doctor/all-checks.ts';
import type { DoctorDeps } from '../../../src/doctor/checks/checkup.ts';
import { runDoctor } from '../../../src/doctor/doctor.ts';
import type { Ports } from '../../../src/hardware/ports.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { MachineFacts, type UnitFacts } from '../../../src/host/machine-facts.ts';
import { makeCertificate } from '../../../src/host/self-signed-certificate.ts';
import { Contact } from '../../../src/platform/contact.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import { apiSettings } from '../../../src/platform/platform-settings.ts';
import { LocalPlatform } from '../../../src/stand-ins/local-platform/local-platform.ts';
import type { AgentStatus } from '../../../src/status/shape/agent-status.ts';
import { deviceAlerts, devicesSummary } from '../../../src/status/shape/device-status.ts';
import { attachedDevice } from '../../support/attached-device-status.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { openFirmwareUpdates, walkThrough } from '../../support/firmware-updates-bench.ts';

/** A gateway on which nothing is wrong, made of real files and a real local platform; each test plants one fault. */
interface Gateway {
  readonly folder: string;
  readonly url: string;
  config: string;
  mode: number;
  deps: DoctorDeps;
  agent: AgentStatus;
  unit: UnitFacts;
  readonly closing: (() => Promise<unknown> | unknown)[];
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const FINGERPRINT = ['00', ...Array(31).fill('AB')].join(':');
const NOW_MS = Date.UTC(2026, 0, 8);
const UID = process.getuid?.() ?? 0;
/** Some containers have none, not even on loopback. */
const hasIpv6 = networkInterfaces().lo?.some(({ family }) => family === 'IPv6') === true;
let platform: LocalPlatform;
let gateway: Gateway;

beforeEach(async () => {
  platform = await LocalPlatform.start({ port: 0 });
  platform.ensureDevice('gateway-1', 'fixture-token');
  gateway = await soundGateway();
});

afterEach(async () => {
  for (const close of gateway.closing.reverse()) await close();
  await platform.close();
  await rm(gateway.folder, { recursive: true, force: true });
});

async function soundGateway(): Promise<Gateway> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-doctor-'));
  await plantFiles(folder, {
    'root/etc/passwd': `turnstone:x:${UID}:900::/:/usr/sbin/nologin`,
    'root/etc/group': 'dialout:x:20:turnstone\nturnstone:x:900:',
    'root/proc/self/mounts': `/dev/mmcblk0p2 / ext4 rw,relatime 0 0`,
    'root/proc/net/route':
      'Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\neth0 00000000 0101A8C0 0003 0 0 100 00000000 0 0 0',
    'root/proc/meminfo': 'MemTotal: 949444 kB\nMemFree: 300000 kB\nMemAvailable: 500000 kB',
    'root/sys/fs/ext4/mmcblk0p2/errors_count': '0',
    'root/sys/block/mmcblk0/device/life_time': '0x01 0x02',
    'state/credentials.json': '{}',
  });
  await chmod(join(folder, 'state/credentials.json'), 0o600);
  const facts = new MachineFacts({ clock: systemClock, root: join(folder, 'root') });
  const real = new MachineFacts({ clock: systemClock });
  const sound: Gateway = {
    folder,
    url: platform.url,
    config: `version: 1\nplatform: { url: "${platform.url}", accessToken: fixture-token }\nstateFolder: ${folder}/state\nsensors: [{ name: machine, kind: host }]\noutbox: { minFree: 1MB }\n`,
    mode: 0o640,
    agent: soundAgent(),
    unit: {
      load: 'loaded',
      active: 'active',
      enabled: 'enabled',
      result: 'success',
      restarts: 0,
      exitCode: 0,
      watchdogMs: 30_000,
      user: 'turnstone',
      dropIns: [],
    },
    closing: [],
    deps: {
      configFile: join(folder, 'turnstone.yaml'),
      environment: {},
      clock: systemClock,
      machine: {
        user: (name) => facts.user(name),
        file: (path) => real.file(path),
        under: (path) => real.under(path),
        holders: (paths) => facts.holders(paths),
        disk: (path) => real.disk(path),
        mount: (path) => facts.mount(path),
        storageWear: () => facts.storageWear(),
        memory: () => facts.memory(),
        hasDefaultRoute: () => facts.hasDefaultRoute(),
        unit: async () => gateway.unit,
      },
      isTimeSynchronised: async () => true,
      version: '1.2.3',
      askPlatform: async (config, signal) => {
        const settings = await apiSettings(config.platform, systemFiles);
        const contact = new Contact({ clock: systemClock, log: silentLog, networkAddresses: () => ['10.0.0.2'] });
        const open = (token: string) =>
          new HttpDeviceApi({ ...settings, token: () => token, clock: systemClock, contact });
        await tokenWorks(open, config.platform.accessToken?.reveal() ?? '', signal).catch(() => {});
        return { hasToken: true, contact: contact.status };
      },
      openPorts: () => {
        throw new Error('a running agent holds the buses');
      },
    },
  };
  return sound;
}

const TAKEN = { hasToken: true, contact: { state: 'reached', sinceMs: 0, lastHeardAtMs: 0 } } as const;

function soundAgent(): AgentStatus {
  return {
    version: '1.2.3',
    nowMs: 10 * HOUR_MS,
    startedAtMs: 0,
    timeSynchronised: true,
    link: { step: 'everything' },
    platform: { ...TAKEN.contact, lastAcknowledgedAtMs: 10 * HOUR_MS - 5_000, verdict: 'good', words: 'up to date' },
    connection: { state: 'idle', failures: 0, acknowledgedEntries: 9 },
    outbox: {
      heldEntries: 3,
      heldBytes: 100,
      hoursThatFit: 900,
      rejected: 0,
      thinned: 0,
      dropped: 0,
      writtenBytes: 10e9,
    },
    writes: { agentBytesPerDay: 10e6, words: 'the agent writes 10MB a day' },
    sensors: [{ name: 'machine', kind: 'host', state: 'ok', readings: [] }],
    actuators: [],
    lockedOut: false,
    firmware: { version: '1.2.3' },
    alerts: [],
  } as unknown as AgentStatus;
}

async function plantFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

async function examine(withAgent = true) {
  await writeFile(gateway.deps.configFile, gateway.config);
  await chmod(gateway.deps.configFile, gateway.mode);
  return runDoctor(withAgent ? { ...gateway.deps, agent: gateway.agent } : gateway.deps, new AbortController().signal);
}

/** Everyone may write a folder whose owner is somebody else only when the bits say so. */
function asOtherUser(): void {
  gateway.deps = {
    ...gateway.deps,
    machine: { ...gateway.deps.machine, user: async () => ({ name: 'turnstone', uid: 54_321, groupIds: [54_321] }) },
  };
}

function listening(
  server: {
    listen(port: number, host: string, done: () => void): unknown;
    address(): unknown;
    close(): unknown;
  },
  host = '127.0.0.1',
): Promise<number> {
  gateway.closing.push(() => server.close());
  return new Promise((resolve) => server.listen(0, host, () => resolve((server.address() as AddressInfo).port)));
}

async function serveTls(fromMs: number, untilMs: number, trusted: boolean, host = '127.0.0.1'): Promise<void> {
  const now = Date.now();
  const { key, cert } = makeCertificate({ names: [host], fromMs: now + fromMs, untilMs: now + untilMs });
  const port = await listening(
    createTlsServer({ key, cert }, (socket) => socket.on('error', () => {})).on('tlsClientError', () => {}),
    host,
  );
  await plantFiles(gateway.folder, { 'ca.pem': cert });
  gateway.config = gateway.config.replace(
    /platform: .*/,
    `platform: { url: "https://${host.includes(':') ? `[${host}]` : host}:${port}", accessToken: fixture-token${trusted ? `, caFile: ${gateway.folder}/ca.pem` : ''} }`,
  );
  gateway.deps = { ...gateway.deps, askPlatform: async () => TAKEN };
}

const toUrl = (url: string): void => {
  gateway.config = gateway.config.replace(platform.url, url);
};
const toPort = (port: number): void => toUrl(`http://127.0.0.1:${port}`);

async function closedPort(): Promise<number> {
  const server = createHttpServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const machine = (change: Partial<DoctorDeps['machine']>): void => {
  gateway.deps = { ...gateway.deps, machine: { ...gateway.deps.machine, ...change } };
};
const agent = (change: object): void => {
  gateway.agent = { ...gateway.agent, ...change };
};
const add = (yaml: string): void => {
  gateway.config += yaml;
};
const sensors = (yaml: string): void => {
  gateway.config = gateway.config.replace(/sensors: .*/, `sensors: [${yaml}]`);
};

/** A chip that nobody answers for. */
const emptyBus = {
  i2c: { openBus: async () => ({ probe: async () => false, close: async () => {} }) },
  close: async () => {},
} as unknown as Ports;

interface Planted {
  readonly fault: string;
  readonly check: string;
  readonly plant: () => unknown;
  readonly reason: RegExp;
  readonly remedy: RegExp;
  readonly verdict?: 'warning';
  readonly withoutAgent?: boolean;
}

const PLANTED: readonly Planted[] = [
  {
    fault: 'an unknown key in the configuration',
    check: 'configuration',
    plant: () => add('lgo: {}\n'),
    reason: /line 6: lgo: unknown key/,
    remedy: /check-config/,
  },
  {
    fault: 'a secret in a file that everyone can read',
    check: 'configuration-warnings',
    plant: () => (gateway.mode = 0o644),
    reason: /everyone can read/,
    remedy: /change it/,
    verdict: 'warning',
  },
  {
    fault: 'an output that a change from afar can free of its limits',
    check: 'configuration-warnings',
    plant: () => add('remoteConfiguration: { enabled: true, allow: [platform, outputs] }\n'),
    reason: /from afar an output can be taken out with its limits/,
    remedy: /change it/,
    verdict: 'warning',
  },
  {
    fault: 'changes from afar that no helper of root would carry out',
    check: 'remote-configuration',
    plant: () => {
      add('remoteConfiguration: { enabled: true }\n');
      gateway.unit = { ...gateway.unit, active: 'inactive' };
    },
    reason: /turnstone-helper.path is not active/,
    remedy: /systemctl enable --now turnstone-helper.path/,
    verdict: 'warning',
  },
  {
    fault: 'a state folder that is not there',
    check: 'state-folder',
    plant: () => rm(join(gateway.folder, 'state'), { recursive: true }),
    reason: /is not there/,
    remedy: /install -d -m 750 -o turnstone/,
  },
  {
    fault: 'a state folder of somebody else',
    check: 'state-folder',
    plant: asOtherUser,
    reason: /user turnstone cannot write/,
    remedy: /chown -R turnstone:/,
  },
  {
    fault: 'credentials that others can read',
    check: 'secrets',
    plant: () => chmod(join(gateway.folder, 'state/credentials.json'), 0o644),
    reason: /mode 644/,
    remedy: /chmod 600/,
  },
  {
    fault: 'a restore that was cut off',
    check: 'restore',
    plant: () => writeFile(`${gateway.deps.configFile}.restore`, ''),
    reason: /no agent starts until it is/,
    remedy: /^sudo turnstone restore --finish$/,
  },
  {
    fault: 'a configuration that the service cannot read',
    check: 'config-readable',
    plant: asOtherUser,
    reason: /cannot read/,
    remedy: /chmod 640/,
  },
  {
    fault: 'an I2C bus that is not there',
    check: 'devices',
    plant: () => sensors('{ name: roof, kind: sht3x, bus: 250 }'),
    reason: /\/dev\/i2c-250 is not there/,
    remedy: /dtparam=i2c_arm=on/,
  },
  {
    fault: 'a serial port that is not plugged in',
    check: 'devices',
    plant: () => sensors('{ name: scale, kind: serial-line, port: /dev/ttyUSB250 }'),
    reason: /\/dev\/ttyUSB250 is not there/,
    remedy: /plug it in/,
  },
  {
    fault: 'a chip of the kernel without its driver',
    check: 'kernel-drivers',
    plant: () => {
      sensors('{ name: air, kind: iio, chip: bme680 }');
      const kernel = { list: async () => [] };
      const ports = { iio: kernel, hwmon: kernel, i2c: kernel, close: async () => {} } as unknown as Ports;
      gateway.deps = { ...gateway.deps, openPorts: () => ports };
    },
    reason: /air \(iio\): the kernel has no IIO device bme680; there is none/,
    remedy: /^dtoverlay=i2c-sensor,bme680 in config\.txt/,
  },
  {
    fault: 'a buffer that the sandbox of the service does not allow',
    check: 'drop-ins',
    plant: () => {
      sensors('{ name: air, kind: iio, chip: dummy, buffer: {} }');
    },
    reason: /^air \(iio\) needs the drop-in turnstone-iio\.conf, which is not there$/,
    remedy: /^install\.sh --with iio;/,
  },
  {
    fault: 'a port that the service may not use',
    check: 'permissions',
    plant: () => {
      sensors('{ name: scale, kind: serial-line, port: /dev/ttyUSB0 }');
      machine({
        file: async (path) =>
          path.startsWith('/dev/')
            ? { uid: 0, gid: 20, mode: 0o660, group: 'dialout' }
            : { uid: 0, gid: 0, mode: 0o600, group: 'root' },
        user: async () => ({ name: 'turnstone', uid: 900, groupIds: [900] }),
      });
    },
    reason: /may not use \/dev\/ttyUSB0 \(group dialout/,
    remedy: /usermod -aG dialout turnstone/,
  },
  ...(
    [
      ['gpsd', /disable --now gpsd\.service gpsd\.socket/],
      ['minicom', /stop minicom, or keep it away from \/dev\/ttyACM0/],
    ] as const
  ).map(
    ([name, remedy]): Planted => ({
      fault: `${name} on a port that the agent reads`,
      check: 'shared-ports',
      plant: () => {
        sensors('{ name: scale, kind: serial-line, port: /dev/ttyACM0 }');
        machine({
          file: async () => ({ uid: UID, gid: 0, mode: 0o600, group: 'root' }),
          holders: async ([path = '']) => [
            { path, pid: 700, name: 'node', command: '/opt/turnstone/runtime/node', group: '' },
            {
              path,
              pid: 701,
              name: 'driver',
              command: '/usr/local/bin/driver',
              group: '0::/system.slice/turnstone.service',
            },
            { path, pid: 812, name, command: `/usr/sbin/${name}`, group: '0::/system.slice/other.service' },
          ],
        });
      },
      reason: new RegExp(`^${name} \\(process 812\\) has /dev/ttyACM0 open: each reader gets a part`),
      remedy,
    }),
  ),
  {
    fault: 'something in the state folder that a command of root left',
    check: 'state-folder',
    plant: () =>
      machine({
        file: async (path) =>
          path.endsWith('credentials.json')
            ? { uid: 0, gid: 0, mode: 0o600, group: 'root' }
            : { uid: 900, gid: 900, mode: 0o750, group: 'turnstone' },
        user: async () => ({ name: 'turnstone', uid: 900, groupIds: [900] }),
      }),
    reason: /user turnstone cannot write in .*credentials\.json/,
    remedy: /chown -R turnstone: /,
  },
  {
    fault: 'a sensor that fails',
    check: 'sensors',
    plant: () =>
      agent({ sensors: [{ name: 'machine', kind: 'host', state: 'failing', fault: 'no /proc/stat', readings: [] }] }),
    reason: /machine \(host\): no \/proc\/stat/,
    remedy: /turnstone sensors read machine/,
  },
  {
    fault: 'a sensor that fails, with the time since when',
    check: 'sensors',
    plant: () =>
      agent({
        wallMs: new Date(2026, 4, 28, 14, 32).getTime(),
        sensors: [
          {
            name: 'machine',
            kind: 'host',
            state: 'failing',
            fault: 'no /proc/stat',
            failingSinceMs: 9.5 * HOUR_MS,
            readings: [],
          },
        ],
      }),
    reason: /machine \(host, fails since 14:02\): no \/proc\/stat/,
    remedy: /turnstone sensors read machine/,
  },
  {
    fault: 'a chip that does not answer, while no agent runs',
    check: 'sensors',
    plant: () => {
      sensors('{ name: roof, kind: bme280, address: 0x77 }');
      gateway.deps = { ...gateway.deps, openPorts: () => emptyBus };
    },
    reason: /roof \(bme280\) at 0x77 on bus 1: nobody answers/,
    remedy: /turnstone scan i2c/,
    withoutAgent: true,
  },
  {
    fault: 'an actuator that is lost',
    check: 'actuators',
    plant: () => agent({ actuators: [{ name: 'pump', kind: 'gpio-output', value: null, fault: 'line busy' }] }),
    reason: /pump \(gpio-output\): line busy/,
    remedy: /wiring/,
  },
  {
    fault: 'a platform whose name nobody knows',
    check: 'dns',
    plant: () => (gateway.config = gateway.config.replace(platform.url, 'http://platform.invalid')),
    reason: /platform\.invalid: no name server/,
    remedy: /resolv\.conf/,
  },
  {
    fault: 'no default route',
    check: 'route',
    plant: async () => {
      gateway.config = gateway.config.replace(platform.url, 'http://192.0.2.1');
      await plantFiles(gateway.folder, {
        'root/proc/net/route': 'Iface Destination Gateway Flags\neth0 0001A8C0 00000000 0001 0 0 100 00FFFFFF 0 0 0',
      });
      gateway.deps = {
        ...gateway.deps,
        askPlatform: async () => TAKEN,
        clock: { ...systemClock, sleep: (_ms, signal) => systemClock.sleep(300, signal) },
      };
    },
    reason: /no default route/,
    remedy: /cable or the modem/,
  },
  {
    fault: 'a proxy that is gone',
    check: 'proxy',
    plant: async () =>
      (gateway.config = gateway.config.replace(
        'accessToken: fixture-token',
        `accessToken: fixture-token, proxy: "http://127.0.0.1:${await closedPort()}"`,
      )),
    reason: /ECONNREFUSED/,
    remedy: /platform\.proxy/,
  },
  {
    fault: 'a platform that is down',
    check: 'reachable',
    plant: async () => toPort(await closedPort()),
    reason: /ECONNREFUSED/,
    remedy: /firewall/,
  },
  {
    fault: 'a certificate that has ended',
    check: 'tls',
    plant: () => serveTls(-9 * DAY_MS, -DAY_MS, true),
    reason: /ended on/,
    remedy: /renew it/,
  },
  {
    fault: 'a certificate that nobody trusts',
    check: 'tls',
    plant: () => serveTls(-DAY_MS, 90 * DAY_MS, false),
    reason: /not trusted here/,
    remedy: /caFile/,
  },
  {
    fault: 'a clock before the certificate',
    check: 'tls',
    plant: () => serveTls(DAY_MS, 90 * DAY_MS, true),
    reason: /valid only from/,
    remedy: /timedatectl/,
  },
  {
    fault: 'a certificate that ends soon',
    check: 'tls',
    plant: () => serveTls(-DAY_MS, 3 * DAY_MS, true),
    reason: /ends on/,
    remedy: /before that/,
    verdict: 'warning',
  },
  {
    fault: 'a token that the platform does not know',
    check: 'token',
    plant: () => (gateway.config = gateway.config.replace('fixture-token', 'wrong-token')),
    reason: /does not know/,
    remedy: /compare the token/,
  },
  {
    fault: 'a login page in between',
    check: 'token',
    plant: async () =>
      toPort(
        await listening(
          createHttpServer((_request, response) =>
            response.setHeader('content-type', 'text/html').end('<html>Welcome to the hotel</html>'),
          ),
        ),
      ),
    reason: /login page/,
    remedy: /log in with a browser/,
  },
  {
    fault: 'a device without a token',
    check: 'token',
    plant: () => (gateway.deps = { ...gateway.deps, askPlatform: async () => ({ ...TAKEN, hasToken: false }) }),
    reason: /no access token/,
    remedy: /accessTokenFile/,
  },
  {
    fault: 'a clock that is not synchronised',
    check: 'clock',
    plant: () => agent({ timeSynchronised: false }),
    reason: /readings wait/,
    remedy: /set-ntp true/,
  },
  {
    fault: 'a full disk',
    check: 'disk-space',
    plant: () => machine({ disk: async () => ({ freeBytes: 5e5, totalBytes: 8e9, freeFiles: 9e5, totalFiles: 1e6 }) }),
    reason: /500kB of 8GB free/,
    remedy: /^free space: journalctl --vacuum[^,]*, apt-get clean$/,
  },
  {
    fault: 'entries that were lost, and a disk that is short of space',
    check: 'outbox',
    plant: () => agent({ outbox: { ...gateway.agent.outbox, missingBytes: 5e7, thinned: 1, dropped: 2 } }),
    reason: /2 entries gave way undelivered.*; 1 entries were thinned/,
    remedy: /^journalctl [^;]*; free space, as disk space above says; free space, as disk space above says$/,
    verdict: 'warning',
  },
  {
    fault: 'an outbox that has room for hours only, on a disk that is short of space',
    check: 'outbox',
    plant: () => agent({ outbox: { ...gateway.agent.outbox, missingBytes: 5e7, hoursThatFit: 3 } }),
    reason: /only 3 more hours fit/,
    remedy: /^free space, as disk space above says$/,
    verdict: 'warning',
  },
  {
    fault: 'a disk without inodes',
    check: 'disk-space',
    plant: () => machine({ disk: async () => ({ freeBytes: 5e9, totalBytes: 8e9, freeFiles: 7, totalFiles: 1e6 }) }),
    reason: /only 7 files/,
    remedy: /du --inodes/,
  },
  {
    fault: 'a disk that went read-only',
    check: 'disk-health',
    plant: () => plantFiles(gateway.folder, { 'root/proc/self/mounts': '/dev/mmcblk0p2 / ext4 ro,relatime 0 0' }),
    reason: /read-only/,
    remedy: /dmesg/,
  },
  {
    fault: 'a file system with errors',
    check: 'disk-health',
    plant: () => plantFiles(gateway.folder, { 'root/sys/fs/ext4/mmcblk0p2/errors_count': '4' }),
    reason: /counted 4 errors/,
    remedy: /replace the card/,
  },
  {
    fault: 'a chip at the end of its life',
    check: 'storage-life',
    plant: () => plantFiles(gateway.folder, { 'root/sys/block/mmcblk0/device/life_time': '0x03 0x0b' }),
    reason: /110 %/,
    remedy: /identity export/,
  },
  {
    fault: 'a chip that is nearly worn, made five years ago',
    check: 'storage-life',
    plant: () =>
      plantFiles(gateway.folder, {
        'root/sys/block/mmcblk0/device/life_time': '0x03 0x09',
        'root/sys/block/mmcblk0/device/date': `06/${new Date().getUTCFullYear() - 5}`,
      }),
    reason: new RegExp(`90 %.*since it was made \\(${new Date().getUTCFullYear() - 5}-06\\) .* about 20\\d\\d`),
    remedy: /plan a replacement/,
    verdict: 'warning',
  },
  {
    fault: 'a chip with few spare blocks',
    check: 'storage-life',
    plant: () => plantFiles(gateway.folder, { 'root/sys/block/mmcblk0/device/pre_eol_info': '0x02' }),
    reason: /80 % of its spare blocks are used; when .* is not known/,
    remedy: /plan a replacement/,
    verdict: 'warning',
  },
  {
    fault: 'too many writes',
    check: 'wear',
    plant: () => agent({ writes: { agentBytesPerDay: 4.8e9, words: 'the agent writes 4.8GB a day' } }),
    reason: /writes 4\.8GB a day/,
    remedy: /deadbands/,
    verdict: 'warning',
  },
  {
    fault: 'too many writes of other programs',
    check: 'wear',
    plant: () =>
      agent({
        writes: {
          agentBytesPerDay: 24e6,
          disk: { name: 'mmcblk0', bytesPerDay: 4.8e9 },
          words: 'the agent writes 24MB a day, the disk mmcblk0 takes 4.8GB a day',
        },
      }),
    reason: /mmcblk0 takes 4\.8GB a day/,
    remedy: /pidstat/,
    verdict: 'warning',
  },
  {
    fault: 'no memory',
    check: 'memory',
    plant: () => plantFiles(gateway.folder, { 'root/proc/meminfo': 'MemTotal: 949444 kB\nMemAvailable: 20000 kB' }),
    reason: /20\.5MB of/,
    remedy: /ps --sort/,
  },
  {
    fault: 'a service that refused its configuration',
    check: 'unit',
    plant: () => (gateway.unit = { ...gateway.unit, active: 'failed', exitCode: 78 }),
    reason: /refused its configuration/,
    remedy: /systemctl restart/,
  },
  {
    fault: 'a service that cannot read its configuration and is started again and again',
    check: 'unit',
    plant: () => (gateway.unit = { ...gateway.unit, active: 'activating', exitCode: 66, restarts: 40 }),
    reason: /cannot read its configuration/,
    remedy: /by itself once the file can be read/,
  },
  {
    fault: 'a service that ends at each start',
    check: 'unit',
    plant: () => (gateway.unit = { ...gateway.unit, active: 'activating', exitCode: 1, restarts: 40 }),
    reason: /again and again \(40 times\)/,
    remedy: /journalctl/,
  },
  {
    fault: 'a service that does not start at boot',
    check: 'unit',
    plant: () => (gateway.unit = { ...gateway.unit, enabled: 'disabled' }),
    reason: /does not start at boot/,
    remedy: /systemctl enable/,
  },
  {
    fault: 'a service without watchdog',
    check: 'watchdog',
    plant: () => (gateway.unit = { ...gateway.unit, watchdogMs: 0 }),
    reason: /no watchdog/,
    remedy: /WatchdogSec/,
    verdict: 'warning',
  },
  {
    fault: 'a service that does not run, of which systemd tells no watchdog',
    check: 'unit',
    plant: () => (gateway.unit = { ...gateway.unit, active: 'inactive', watchdogMs: 0 }),
    reason: /it is inactive/,
    remedy: /systemctl start/,
  },
  {
    fault: 'an old release that still runs',
    check: 'agent',
    plant: () => agent({ version: '1.2.2' }),
    reason: /release 1\.2\.2 runs, and 1\.2\.3 is installed/,
    remedy: /restart/,
    verdict: 'warning',
  },
  {
    fault: 'nothing acknowledged for an hour',
    check: 'uploads',
    plant: () =>
      agent({
        platform: {
          ...gateway.agent.platform,
          lastAcknowledgedAtMs: 9 * HOUR_MS,
          verdict: 'waiting',
          words: 'entries wait for an hour',
        },
      }),
    reason: /entries wait for an hour/,
    remedy: /turnstone status/,
  },
  {
    fault: 'nothing acknowledged for an hour, as only alarms are sent',
    check: 'uploads',
    plant: () => {
      const features = { telemetry: 50_000_000, polls: 0, calls: 0, firmware: 0 };
      agent({
        platform: {
          ...gateway.agent.platform,
          lastAcknowledgedAtMs: 9 * HOUR_MS,
          verdict: 'waiting',
          words: 'all but alarms waits',
        },
        link: { usedBytes: 50_000_000, features, words: '50.0 MB', beginsAtMs: 0, endsAtMs: 2, step: 'alarms-only' },
      });
    },
    reason: /all but alarms waits/,
    remedy: /link\.monthly/,
    verdict: 'warning',
  },
  {
    fault: 'a link whose month does not suffice',
    check: 'link',
    plant: () => {
      const words = '31.2 MB of 50.0 MB since 2026-03-01Z, 56.1 MB by 2026-04-01Z, reaches day 27';
      const bytes = { usedBytes: 31_200_000, monthlyBytes: 50_000_000, forecastBytes: 56_100_000, reachesAtMs: 1 };
      const features = { telemetry: 31_200_000, polls: 0, calls: 0, firmware: 0 };
      agent({ link: { ...bytes, features, words, beginsAtMs: 0, endsAtMs: 2, step: 'everything' } });
    },
    reason: /reaches day 27/,
    remedy: /link\.monthly/,
    verdict: 'warning',
  },
  {
    fault: 'an alert that no other check tells of',
    check: 'alerts',
    plant: () => agent({ alerts: ['another board sends as this device: turnstone identity adopt'] }),
    reason: /another board sends/,
    remedy: /turnstone status/,
  },
  {
    fault: 'an attached device that the platform deleted, which no alert repeats',
    check: 'attached-devices',
    plant: () => {
      const devices = devicesSummary([attachedDevice({ state: 'blocked', reason: 'it was deleted there' })]);
      agent({ devices, alerts: deviceAlerts(devices) });
    },
    reason: /^gateway-7 meter1: blocked: it was deleted there$/,
    remedy: /devices rotate/,
  },
  {
    fault: 'entries that the platform refused',
    check: 'outbox',
    plant: () => agent({ outbox: { ...gateway.agent.outbox, rejected: 2 } }),
    reason: /2 entries were refused by the platform/,
    remedy: /outbox rejected/,
    verdict: 'warning',
  },
  {
    fault: 'entries that were lost in several ways, of which one is long ago',
    check: 'outbox',
    plant: () => {
      const lastLost = {
        damaged: NOW_MS - 7 * 24 * HOUR_MS,
        dropped: NOW_MS - HOUR_MS,
        rejected: NOW_MS - 7 * 24 * HOUR_MS - 1,
      };
      agent({
        wallMs: NOW_MS,
        outbox: { ...gateway.agent.outbox, damaged: 9_500, dropped: 3, rejected: 2, thinned: 1, lastLost },
      });
    },
    reason:
      /^9500 entries were lost to damage on the disk, the last at 2026-01-01T00:00:00\.000Z; 3 entries gave way undelivered: .* the last at 2026-01-07T23:00:00\.000Z; 1 entries were thinned out to make room$/,
    remedy: /^turnstone outbox verify .*; journalctl .*; raise outbox\.maxBytes/,
    verdict: 'warning',
  },
  {
    fault: 'entries of starts whose clock was never right',
    check: 'outbox',
    plant: () => agent({ outbox: { ...gateway.agent.outbox, untimedEntries: 44 } }),
    reason: /44 entries wait for their time: the clock was not right/,
    remedy: /outbox\.timeUncertain: send/,
    verdict: 'warning',
  },
  {
    fault: 'an outbox that cannot write',
    check: 'outbox',
    plant: () => agent({ outbox: { ...gateway.agent.outbox, fault: 'EROFS' } }),
    reason: /cannot write \(EROFS\)/,
    remedy: /dmesg/,
  },
  {
    fault: 'an update that failed',
    check: 'firmware',
    plant: async () => {
      const clock = new FakeClock();
      const side = await openFirmwareUpdates({}, { clock });
      await walkThrough(side, clock, [{ fw_title: 'toaster', fw_version: '1.3.0', fw_checksum: 'ab' }]);
      agent({ firmware: side.summary() });
    },
    reason: /^the update to toaster 1\.3\.0 failed at 20.*: nothing here is called "toaster"$/,
    remedy: /firmware history/,
  },
  {
    fault: 'a key switch that was forgotten',
    check: 'lockout',
    plant: () => agent({ lockedOut: true }),
    reason: /locked out/,
    remedy: /key switch/,
    verdict: 'warning',
  },
  {
    fault: 'a page in the network whose port somebody else has',
    check: 'page',
    plant: () => {
      gateway.config += 'status: { page: lan, pin: "471199" }\n';
    },
    reason: /^it is not open on port 8088$/,
    remedy: /turnstone logs .* another status\.port/,
    verdict: 'warning',
  },
  {
    fault: 'a page that the agent still has on this machine alone',
    check: 'page',
    plant: () => {
      gateway.config += 'status: { page: lan, pin: "471199" }\n';
      agent({ page: { url: 'http://localhost:8088' } });
    },
    reason: /on this machine alone, and the configuration in the network$/,
    remedy: /systemctl restart turnstone/,
    verdict: 'warning',
  },
];

describe('the doctor', () => {
  it.each([
    ['ext4 rw,relatime', true],
    ['ext4 rw,relatime,commit=60', false],
    ['f2fs rw', false],
  ])('proposes a longer commit of the journal where one is: %s', async (mount, isProposed) => {
    await plantFiles(gateway.folder, { 'root/proc/self/mounts': `/dev/mmcblk0p2 / ${mount} 0 0` });
    const { checks } = await examine();
    const found = checks.find(({ id }) => id === 'disk-health');
    expect(found?.verdict).toBe('good');
    expect(found?.reason.includes('commit=60 in /etc/fstab')).toBe(isProposed);
  });

  it('finds nothing wrong with a sound gateway', async () => {
    const report = await examine();
    expect(report.checks.filter(({ verdict }) => verdict !== 'good')).toEqual([]);
    expect(report.verdict).toBe('good');
  });

  it.each(PLANTED)(
    'finds $fault, and names the remedy',
    async ({ check, plant, reason, remedy, verdict = 'fault', withoutAgent }) => {
      await plant();
      const report = await examine(withoutAgent !== true);
      expect(report.checks.find(({ id }) => id === check)).toMatchObject({
        verdict,
        reason: expect.stringMatching(reason),
        remedy: expect.stringMatching(remedy),
      });
      expect(report.verdict).not.toBe('good');
      expect(JSON.stringify(report)).not.toContain('fixture-token');
    },
  );

  it('has at least one planted fault for every check', () => {
    expect(CHECKS.map(({ id }) => id).filter((id) => !PLANTED.some(({ check }) => check === id))).toEqual([]);
    expect(PLANTED.length).toBeGreaterThanOrEqual(20);
  });

  it('tells of a loss for a week, and finds the outbox well after it', async () => {
    const lastLost = { damaged: NOW_MS - 7 * 24 * HOUR_MS - 1 };
    agent({ wallMs: NOW_MS, outbox: { ...gateway.agent.outbox, damaged: 9_500, lastLost } });
    expect((await examine()).checks.find(({ id }) => id === 'outbox')).toMatchObject({ verdict: 'good' });
  });

  it('says what a listener in the network can read of the page, and what to compare in a browser', async () => {
    const reasonOf = async (withAgent = true): Promise<string | undefined> =>
      (await examine(withAgent)).checks.find(({ id, verdict }) => id === 'page' && verdict === 'good')?.reason;
    expect(await reasonOf()).toBe('it is open to this machine alone');
    const sound = gateway.config;
    gateway.config = `${sound}status: { page: "off" }\n`;
    expect(await reasonOf()).toBeUndefined();
    gateway.config = `${sound}status: { page: lan, pin: "471199" }\n`;
    expect(await reasonOf(false)).toMatch(/a listener reads nothing$/);
    agent({ page: { url: 'https://gateway-1:8088', fingerprint: FINGERPRINT } });
    expect(await reasonOf()).toMatch(
      /a listener in the network reads nothing: .* must begin with 00 AB AB AB AB AB AB AB$/,
    );
    agent({ page: undefined, nowMs: 29_000 });
    expect((await examine()).checks.find(({ id }) => id === 'page')).toBeUndefined();
  });

  it('says what may be changed from afar', async () => {
    const verdict = async () => (await examine()).checks.find(({ id }) => id === 'remote-configuration');
    expect(await verdict()).toMatchObject({ verdict: 'good', reason: expect.stringMatching(/^nothing:/) });
    add('remoteConfiguration: { enabled: true, allow: [platform, programs], trial: 10m }\n');
    expect(await verdict()).toMatchObject({
      verdict: 'good',
      reason: expect.stringMatching(/also platform, programs; each change has 10m to prove itself$/),
    });
  });

  it('takes an agent that hangs for none that is gone, and leaves it the buses', async () => {
    gateway.deps = { ...gateway.deps, silentAgent: 'it does not answer' };
    const { checks } = await examine(false);
    expect(checks.find(({ id }) => id === 'agent')).toMatchObject({
      verdict: 'fault',
      reason: 'one runs and hangs: it does not answer',
    });
    expect(checks.find(({ id }) => id === 'sensors')).toMatchObject({
      verdict: 'unknown',
      reason: expect.stringContaining('holds the buses'),
    });
  });

  it('says in plain words that there is no configuration', async () => {
    gateway.deps = { ...gateway.deps, configFile: '/nonexistent/turnstone.yaml' };
    const { checks } = await runDoctor(gateway.deps, new AbortController().signal);
    expect(checks.find(({ id }) => id === 'configuration')?.reason).toBe(
      'line 1: there is no configuration /nonexistent/turnstone.yaml',
    );
  });

  it('gives every warning and fault a remedy', async () => {
    gateway.config = 'version: 2\n';
    gateway.unit = { ...gateway.unit, active: 'inactive' };
    const { checks } = await examine(false);
    expect(
      checks.filter(({ verdict, remedy }) => (verdict === 'warning' || verdict === 'fault') && remedy === undefined),
    ).toEqual([]);
  });

  it.runIf(hasIpv6)('reaches a platform by its IPv6 address, plain and over TLS', async () => {
    const plain = createHttpServer((_request, response) =>
      response.setHeader('content-type', 'application/json').end('{}'),
    );
    toUrl(`http://[::1]:${await listening(plain, '::1')}`);
    const found = (await examine()).checks;
    expect(found.filter(({ verdict }) => verdict !== 'good')).toEqual([]);
    expect(found.find(({ id }) => id === 'reachable')?.reason).toMatch(/^\[::1\]:\d+$/);
    await serveTls(-DAY_MS, 90 * DAY_MS, true, '::1');
    const overTls = (await examine()).checks;
    expect(overTls.filter(({ verdict }) => verdict !== 'good')).toEqual([]);
    expect(overTls.find(({ id }) => id === 'tls')?.reason).toMatch(/^until/);
  });

  it('does not wait for a check that hangs', async () => {
    gateway.deps = {
      ...gateway.deps,
      clock: { ...systemClock, sleep: async () => {} },
      askPlatform: () => new Promise(() => {}),
    };
    expect((await examine()).checks.find(({ id }) => id === 'token')).toMatchObject({
      verdict: 'unknown',
      reason: 'it took too long to look',
    });
  });
});

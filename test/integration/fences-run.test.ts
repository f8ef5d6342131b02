/**
 * Every command of the program in the papers' fences runs as it is written, page by page, on a machine of its own. What needs something from outside is
 * named here, with the reason. Other commands: pages.test.ts.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { type BoardBench, openBoardBench } from '../support/board-bench.ts';
import { missingHouse, PaperHouse } from '../support/paper-house.ts';

const ROOT = join(import.meta.dirname, '../..');
const KEY = 'key-of-the-papers';
const SECRET = 'secret-of-the-papers';
const WITHIN_MS = 240_000;
const WATCHED_MS = 4_000;

/** Commands that cannot run here, by what they need. */
const ELSEWHERE: Readonly<Record<string, { readonly needs: string; readonly test: string }>> = {
  'sudo turnstone init': { needs: 'a person who answers', test: 'test/journeys/technician.test.ts' },
  'turnstone platform-setup --url https://iot.example.org --user admin@example.org --dry-run': {
    needs: 'a platform at that address',
    test: 'test/unit/office/platform-setup.test.ts',
  },
  'turnstone platform-setup --url https://iot.example.org --user admin@example.org': {
    needs: 'a platform at that address',
    test: 'test/unit/office/platform-setup.test.ts',
  },
  'turnstone configure --set sensors.roof.period=30s --remove sensors.hall --check': {
    needs: "root's helper",
    test: 'test/unit/cli/configure.test.ts',
  },
  'turnstone configure --set sensors.roof.period=30s --remove sensors.hall': {
    needs: "root's helper",
    test: 'test/unit/cli/configure.test.ts',
  },
  'turnstone scan i2c': { needs: 'an I2C bus', test: 'test/unit/cli/scan.test.ts' },
  'turnstone scan serial': { needs: 'a serial port', test: 'test/unit/cli/scan-serial.test.ts' },
};
/** Exit codes other than 0 that are good: the doctor finds that no systemd runs here, and a watch ends by Ctrl-C. */
const GOOD_CODES: Readonly<Record<string, readonly number[]>> = {
  'sudo turnstone doctor': [0, 1],
  'turnstone watch': [0, 130],
};

/** Fences of a page that are typed on another machine than those before: from which on. */
const OTHER_MACHINE: Readonly<Record<string, readonly string[]>> = {
  'docs/moving.md': [
    'sudo systemctl stop turnstone\nsudo turnstone restore gateway-7.backup',
    'sudo turnstone backup before-the-move.backup',
    'turnstone devices move meter1',
    'turnstone devices move --from',
  ],
};

interface Paper {
  readonly page: string;
  /** Fences with commands of the program, by machine. */
  readonly machines: readonly (readonly string[])[];
}

const NAMES = [
  'README.md',
  ...(await readdir(join(ROOT, 'docs'))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
];
const PAPERS: readonly Paper[] = (
  await Promise.all(
    NAMES.map(async (page) => {
      const text = await readFile(join(ROOT, page), 'utf8');
      const fences = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, fence = '']) => fence.trim());
      const machines: string[][] = [];
      for (const fence of fences.filter((one) => /^(sudo )?turnstone /m.test(one))) {
        const isOther = OTHER_MACHINE[page]?.some((first) => fence.startsWith(first)) === true;
        if (machines.length === 0 || isOther) machines.push([]);
        machines.at(-1)?.push(fence);
      }
      return { page, machines };
    }),
  )
).filter(({ machines }) => machines.length > 0);

const isRun = (line: string): boolean => /^(sudo )?(turnstone|systemctl) /.test(line) && ELSEWHERE[line] === undefined;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function openPlatform(): Promise<LocalPlatform> {
  const platform = await LocalPlatform.start({ port: 0 });
  closing.push(() => platform.close());
  platform.allowProvisioning({ key: KEY, secret: SECRET });
  return platform;
}

function namesOn(platform: LocalPlatform): readonly string[] {
  return platform.state.registry.devices.all.map(({ name }) => name).sort();
}

/** Name of the gateway; the second machine of a page takes the first one's place. */
function nameOf(machine: number): string {
  return `gateway-${machine === 1 ? 0 : machine}`;
}

/** What a reader has written by now: a sensor, an output, a rule, an attached device. */
function configuration(platform: LocalPlatform, board: BoardBench, machine: number): string {
  // The other gateway of a move does not have the device yet.
  const isNewGateway = machine === 4;
  const attached = isNewGateway ? '' : 'devices: [{ name: meter1 }]\n';
  const load = isNewGateway ? '' : '  - { name: meter1, device: meter1, kind: bme280, address: 0x77, period: 1s }\n';
  return `version: 1
platform: { url: "${platform.url}" }
provisioning: { deviceKey: ${KEY}, deviceSecret: ${SECRET}, deviceName: ${nameOf(machine)} }
hardware: { board: simulated, boardSocket: ${board.socketPath} }
time: { trust: always }
status: { page: loopback, port: 0 }
${attached}sensors:
  - { name: air, kind: bme280, address: 0x76, period: 1s }
${load}actuators:
  - { name: fan, kind: gpio-output, line: GPIO17, safe: { start: off, stop: off, crash: off } }
rules:
  - { name: dry, when: { sensor: air, key: humidity, above: 65, hysteresis: 10, for: 2m }, set: { actuator: fan, value: on }, otherwise: off }
`;
}

describe.skipIf(missingHouse() !== undefined)('the commands in the papers', () => {
  it('are all looked at', () => {
    const lines = PAPERS.flatMap(({ machines }) => machines.flat(2)).flatMap((fence) => fence.split('\n'));
    expect(Object.keys(ELSEWHERE).filter((line) => !lines.includes(line))).toEqual([]);
    expect(Object.values(ELSEWHERE).filter(({ test }) => !existsSync(join(ROOT, test)))).toEqual([]);
    const isWhole = ({ page, machines }: Paper): boolean => machines.length === (OTHER_MACHINE[page]?.length ?? 0) + 1;
    expect(PAPERS.filter((paper) => !isWhole(paper))).toEqual([]);
  });

  it.each(PAPERS)('run as they are written: $page', { timeout: WITHIN_MS }, async ({ page, machines }) => {
    const platform = await openPlatform();
    // The reader of the page about moving edits the address in between.
    const next = page === 'docs/moving.md' ? await openPlatform() : platform;
    let before: PaperHouse | undefined;
    for (const [machine, fences] of machines.entries()) {
      const board = await openBoard();
      closing.push(() => board.close());
      const house = await PaperHouse.open();
      closing.push(() => house.close());
      await house.write('/etc/turnstone/token', 'token-of-the-gateway\n');
      await house.write('/etc/turnstone/turnstone.yaml', configuration(platform, board, machine));
      if (before !== undefined) await house.run(`cp -r ${before.home}/. .`);
      const lines = fences.flatMap((fence) => fence.split('\n')).filter(isRun);
      // The restored gateway has no configuration of its own.
      if (lines.some((line) => line.includes('turnstone restore'))) await house.run('rm /etc/turnstone/turnstone.yaml');
      else await started(house);
      for (const line of lines) {
        // Between two commands the page has the reader write this.
        if (line.includes('check-config'))
          await house.write('/etc/turnstone/turnstone.yaml', configuration(next, board, machine));
        const isWatch = line === 'turnstone watch';
        const { exitCode, said } = await house.run(line, isWatch ? { interruptAfterMs: WATCHED_MS } : {});
        expect(GOOD_CODES[line] ?? [0], `${line}\n${said}\n${await house.log()}`).toContain(exitCode);
        expect(said, line).not.toMatch(/ at .*\.(ts|mjs):\d+/);
        if (line === 'turnstone status') expect(said).toContain(nameOf(machine));
      }
      before = house;
      if (next !== platform && lines.includes('sudo turnstone identity forget --devices'))
        await expect.poll(() => namesOn(next)).toEqual([nameOf(machine), `${nameOf(machine)} meter1`]);
    }
  });
});

/** A board of the machine's own: a chip for the gateway, one for the attached device, and a relay. */
async function openBoard(): Promise<BoardBench> {
  const signals = {
    temperature: { kind: 'constant', value: 21 },
    humidity: { kind: 'constant', value: 50 },
    pressure: { kind: 'constant', value: 1013 },
  } as const;
  return await openBoardBench(() => ({
    gpio: [{ chip: 'gpiochip0', names: { 17: 'GPIO17' } }],
    i2c: [{ bus: 1, chips: [0x76, 0x77].map((address) => ({ kind: 'bme280', address, signals })) }],
  }));
}

/** Starts the agent, and waits until it and what is attached are known to the platform. */
async function started(house: PaperHouse): Promise<void> {
  const { exitCode, said } = await house.run('systemctl start turnstone');
  expect(exitCode, `${said}\n${await house.log()}`).toBe(0);
  await house.run('for _ in $(seq 100); do turnstone status | grep -q "up to date" && exit; sleep 0.2; done');
}

/** Root's part of a configuration from afar on real files below a folder, with the real boot guard; only the service manager is a stand-in. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ConfigureRequest, SettleRequest } from '../../src/firmware/guard-state.ts';
import { asGroup, ownerOf } from '../../src/host/file-owner.ts';
import { silentLog } from '../../src/host/log.ts';
import { configure } from '../../src/remote-config/root/configure.ts';
import { settle } from '../../src/remote-config/root/end-trial.ts';
import type { RootConfigurationDeps } from '../../src/remote-config/root/root-deps.ts';
import { readConfigurationResult, readConfigurationTrial, trialPaths } from '../../src/remote-config/trial-state.ts';
import { FakeClock } from './fake-clock.ts';
import { type Death, MortalFiles } from './mortal-files.ts';
import { systemUpdateFiles } from './system-update-files.ts';

export const BEFORE = 'version: 1\nremoteConfiguration: { enabled: true }\nlabel: before\n';
export const AFTER = 'version: 1\nremoteConfiguration: { enabled: true }\nlabel: after # with a comment\n';

/** Notes what it is asked to do, and shows the status that the file `ended` says. */
const SYSTEMCTL = `#!/bin/sh
case $1 in
  show) cat "$TURNSTONE_ROOT/ended" 2>/dev/null || echo 0 ;;
  *) echo "$*" >>"$TURNSTONE_ROOT/systemctl" ;;
esac
`;

export function hashOf(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex');
}

export class RootConfigBench {
  readonly root: string;
  readonly clock = new FakeClock();
  /** Requests to the service manager, in order. */
  readonly done: string[] = [];
  isReleaseOnTrial = false;
  /** Set while no timer can be started. */
  hasNoTimer = false;
  locked: readonly { readonly path: string; readonly words: string }[] = [];

  private constructor(root: string) {
    this.root = root;
  }

  static async make(before = BEFORE): Promise<RootConfigBench> {
    const bench = new RootConfigBench(await mkdtemp(join(tmpdir(), 'turnstone-configure-')));
    await bench.put('etc/turnstone/turnstone.yaml', before, 0o640);
    await bench.put('bin/systemctl', SYSTEMCTL, 0o755);
    await bench.setBoot(bench.clock.bootId);
    for (const folder of ['var/lib/turnstone-guard', 'var/lib/turnstone/firmware', 'opt/turnstone'])
      await mkdir(join(bench.root, folder), { recursive: true });
    return bench;
  }

  get paths() {
    return trialPaths(join(this.root, 'var/lib/turnstone-guard'));
  }

  get file(): string {
    return join(this.root, 'etc/turnstone/turnstone.yaml');
  }

  get wayBack(): string {
    return join(this.root, 'etc/turnstone/.turnstone.yaml.before-trial');
  }

  get candidate(): string {
    return join(this.root, 'var/lib/turnstone/firmware/configuration');
  }

  async put(path: string, content: string | Uint8Array, mode = 0o644): Promise<void> {
    await mkdir(dirname(join(this.root, path)), { recursive: true });
    await writeFile(join(this.root, path), content, { mode });
  }

  /** The machine is another boot's from now on, for root and guard. */
  async setBoot(bootId: string): Promise<void> {
    this.clock.bootId = bootId;
    await this.put('proc/sys/kernel/random/boot_id', `${bootId}\n`);
  }

  /** Seconds since the boot, as the guard reads them. */
  async setUptime(seconds: number): Promise<void> {
    await this.put('proc/uptime', `${seconds}.25 1.00\n`);
  }

  deps(mortal?: MortalFiles): RootConfigurationDeps {
    const change = async (name: string): Promise<void> => {
      const act = async (): Promise<void> => void this.done.push(name);
      await (mortal === undefined ? act() : mortal.change(name, this.root, act));
    };
    return {
      files: mortal?.files ?? systemUpdateFiles,
      guardFolder: join(this.root, 'var/lib/turnstone-guard'),
      requestFolder: join(this.root, 'var/lib/turnstone/firmware'),
      file: this.file,
      userId: process.geteuid?.() ?? 0,
      ownerOf,
      asGroup,
      startTimer: async (seconds) => {
        if (this.hasNoTimer) throw new Error('no timer');
        await change(`timer ${seconds}`);
      },
      stopTimer: () => change('stop timer'),
      renewAgent: (how) => change(how),
      lockedChanges: () => this.locked,
      isReleaseOnTrial: async () => this.isReleaseOnTrial,
      clock: this.clock,
      log: silentLog,
    };
  }

  request(changes: Partial<ConfigureRequest> = {}): ConfigureRequest {
    const usual: ConfigureRequest = {
      request: 'configure',
      id: 'one',
      hash: hashOf(AFTER),
      before: hashOf(BEFORE),
      trialS: 300,
      needs: 'reload',
      origin: 'patch',
    };
    return Object.assign(usual, changes);
  }

  /** Leaves the candidate, and asks for it. */
  async ask(changes: Partial<ConfigureRequest> = {}, candidate: string | Uint8Array = AFTER, death?: Death) {
    await this.put('var/lib/turnstone/firmware/configuration', candidate);
    return this.configure(changes, death);
  }

  async configure(changes: Partial<ConfigureRequest> = {}, death?: Death): Promise<MortalFiles> {
    const mortal = new MortalFiles(this.root, death);
    await configure(this.deps(mortal), this.request(changes)).catch((error: unknown) => {
      if (!mortal.isDead) throw error;
    });
    return mortal;
  }

  async settle(
    outcome: SettleRequest['outcome'],
    {
      id = 'one',
      reason = 'because',
      refused,
      death,
    }: { id?: string; reason?: string; refused?: string; death?: Death } = {},
  ): Promise<MortalFiles> {
    const mortal = new MortalFiles(this.root, death);
    await settle(this.deps(mortal), {
      request: 'settle',
      id,
      outcome,
      reason,
      ...(refused !== undefined && { refused }),
    }).catch((error: unknown) => {
      if (!mortal.isDead) throw error;
    });
    return mortal;
  }

  /** Content of the file in place; empty where there is none. */
  inPlace(): Promise<string> {
    return readFile(this.file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return '';
    });
  }

  async seen() {
    return {
      inPlace: await this.inPlace(),
      trial: (await readConfigurationTrial(systemUpdateFiles, this.paths))?.id,
      result: await readConfigurationResult(systemUpdateFiles, this.paths),
    };
  }

  /** Names in the folders of root that a trial uses, but for result, history, and what a kept file goes back to. */
  async left(): Promise<string[]> {
    const [own, beside] = [await readdir(this.paths.folder).catch(() => []), await readdir(dirname(this.file))];
    return [
      ...own.filter((name) => !['result', 'history', 'last-good', 'probation'].includes(name)),
      ...beside.filter((name) => !['turnstone.yaml', 'turnstone.yaml.refused'].includes(name)),
    ];
  }

  history(): Promise<string[]> {
    return readdir(this.paths.history).then((names) => names.sort());
  }

  historyText(name: string): Promise<string> {
    return readFile(join(this.paths.history, name), 'utf8');
  }

  remove(): Promise<void> {
    return rm(this.root, { recursive: true });
  }
}

/**
 * A gateway in a folder: releases, the real root helper's logic, the real boot guard, the real updater, and a platform that hands out one
 * image. It boots, runs, is killed at a chosen change of the disk, boots again, until its update has ended.
 */
import { chmod, mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type AgentConfig, configSchema } from '../../src/config/schema/agent-config.ts';
import { FirmwareUpdater } from '../../src/firmware/firmware-updater.ts';
import { REQUEST_NAME, type ReleasePaths, releasePaths } from '../../src/firmware/guard-state.ts';
import { answerRequest } from '../../src/firmware/release-swap.ts';
import type { UpdaterDeps, Vitals } from '../../src/firmware/updater-deps.ts';
import type { Clock } from '../../src/host/clock.ts';
import { silentLog } from '../../src/host/log.ts';
import type { FirmwareBody } from '../../src/platform/device-api.ts';
import type { JsonObject, JsonValue } from '../../src/values/json.ts';
import { runGuard } from './guard-shell.ts';
import { type Death, MortalFiles } from './mortal-files.ts';
import { makeImage, makeKeys, type ReleaseImage } from './release-image.ts';
import { systemUpdateFiles } from './system-update-files.ts';

/** How a release behaves, by its version; what is not named is well. */
export interface ReleaseManners {
  /** The self-test's complaint. */
  readonly selfTest?: string;
  /** Ends at once with this code; systemd starts it again, unless it is 78. */
  readonly exitsWith?: number;
  /** Does not become ready; systemd kills it after TimeoutStartSec= and starts it again. */
  readonly hangsAtStart?: true;
  readonly neverUploads?: true;
  readonly fault?: string;
}

export interface GatewayOptions {
  readonly image: ReleaseImage;
  readonly version: string;
  readonly manners?: Readonly<Record<string, ReleaseManners>>;
  /** Hours until the platform can be reached. */
  readonly linkIsDownForHours?: number;
  readonly firmware?: JsonObject;
  readonly sizeBytes?: number;
}

/** Time passes only while somebody sleeps, and not while the root helper works. */
class SimulatedClock implements Clock {
  bootId = 'boot-1';
  #nowMs = 0;
  gate: Promise<void> = Promise.resolve();

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return 1_780_000_000_000 + Math.round(this.#nowMs);
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await this.gate;
    await new Promise((resolve) => setImmediate(resolve));
    if (!signal.aborted) this.#nowMs += ms;
  }

  jitter(): number {
    return 0;
  }

  /** A request here ends long before anything that is looked at now and then. */
  after(_ms: number, _callback: () => void): () => void {
    return () => {};
  }
}

export class Gateway {
  readonly root: string;
  readonly paths: ReleasePaths;
  readonly clock = new SimulatedClock();
  readonly keys: ReturnType<typeof makeKeys>;
  /** All telemetry that was reported, oldest first. */
  readonly reported: Record<string, JsonValue>[] = [];
  /** The version of each start of the agent, and of each first upload. */
  readonly starts: string[] = [];
  readonly uploads: string[] = [];
  chunksServed = 0;
  helperWasAsked = false;
  readonly #options: GatewayOptions;
  #boots = 1;

  private constructor(root: string, keys: ReturnType<typeof makeKeys>, options: GatewayOptions) {
    this.root = root;
    this.paths = releasePaths(root);
    this.keys = keys;
    this.#options = options;
  }

  static async make(make: (keys: ReturnType<typeof makeKeys>) => GatewayOptions): Promise<Gateway> {
    const keys = makeKeys();
    const gateway = new Gateway(await mkdtemp(join(tmpdir(), 'turnstone-gateway-')), keys, make(keys));
    await gateway.#install('1.0.0');
    return gateway;
  }

  async remove(): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }

  async current(): Promise<string> {
    return (await readlink(join(this.paths.home, 'current'))).split('/').at(-1) ?? '';
  }

  /** True when the release that `current` leads to is whole. */
  async currentIsWhole(): Promise<boolean> {
    const version = await this.current();
    const expected = version === '1.0.0' ? makeImage({ release: '1.0.0' }) : this.#options.image;
    for (const [path, content] of expected.files) {
      const found = await readFile(join(this.paths.home, 'releases', version, path)).catch(() => undefined);
      if (found === undefined || !found.equals(content)) return false;
    }
    return true;
  }

  /**
   * Boots and runs until the update has ended, killed once if asked for: the agent, the root helper, or at any of their changes the power.
   * Resolves with how it ended and with every change that was made.
   */
  async live(deaths: { readonly agent?: Death; readonly helper?: Death; readonly powerCut?: boolean } = {}) {
    const agentChanges: string[] = [];
    const helperChanges: string[] = [];
    let { agent, helper } = deaths;
    for (let boot = 0; boot < 14; boot += 1) {
      const agentFiles = new MortalFiles(this.root, agent);
      const helperFiles = new MortalFiles(this.root, helper);
      const outcome = await this.#boot(agentFiles, helperFiles, deaths.powerCut === true);
      agentChanges.push(...agentFiles.changes);
      helperChanges.push(...helperFiles.changes);
      if (agentFiles.isDead) agent = undefined;
      else if (agent !== undefined) agent = { ...agent, at: agent.at - agentFiles.changes.length };
      if (helperFiles.isDead) helper = undefined;
      else if (helper !== undefined) helper = { ...helper, at: helper.at - helperFiles.changes.length };
      if ((agentFiles.isDead || helperFiles.isDead) && deaths.powerCut === true) this.#powerCut();
      if (outcome === 'ended') return { ended: true, agentChanges, helperChanges };
    }
    return { ended: false, agentChanges, helperChanges };
  }

  /** One start of the service: the guard, the agent, and the helper when it is asked. */
  async #boot(agentFiles: MortalFiles, helperFiles: MortalFiles, powerCut: boolean): Promise<'ended' | 'restart'> {
    await this.guard('starting');
    const version = await this.current();
    const manners = this.#options.manners?.[version] ?? {};
    this.starts.push(version);
    if (manners.exitsWith !== undefined || manners.hangsAtStart === true) {
      await this.guard('stopped', String(manners.exitsWith ?? 'TERM'));
      return 'restart';
    }
    const stop = new AbortController();
    const updater = await FirmwareUpdater.open(this.#deps(version, agentFiles, manners, stop)).catch(() => undefined);
    if (updater === undefined) return 'restart';
    updater.considerOffer(this.#options.image === undefined ? {} : this.offer());
    const running = updater.run(stop.signal);
    const endedBefore = updater.status.history.length;
    const served = this.#serveRequests(helperFiles, stop, powerCut);
    void agentFiles.died.then(() => stop.abort());
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      const { state, history, offered } = updater.status;
      const isDone = state === 'idle' && (history.length > endedBefore || offered?.settled === true);
      if (!isDone && !stop.signal.aborted) continue;
      stop.abort();
      await Promise.all([running, served]);
      if (!isDone || agentFiles.isDead) return 'restart';
      if (!this.uploads.includes(`${version} after the end`)) this.uploads.push(`${version} after the end`);
      return 'ended';
    }
  }

  /** Runs a subcommand of the real guard. */
  guard(command: string, exitStatus?: string): Promise<void> {
    return runGuard(this.root, command, exitStatus);
  }

  offer(): JsonObject {
    const { image, version, sizeBytes } = this.#options;
    return {
      fw_title: 'turnstone',
      fw_version: version,
      fw_checksum: image.sha256,
      fw_checksum_algorithm: 'SHA256',
      fw_size: sizeBytes ?? image.bytes.length,
    };
  }

  config(): AgentConfig['firmware'] {
    const config = configSchema.parse({
      version: 1,
      platform: { url: 'http://127.0.0.1:1', accessToken: 'token' },
    }).firmware;
    return {
      ...config,
      trustedKeys: join(this.root, 'etc/turnstone/trusted-keys'),
      chunkBytes: 256,
      ...this.#options.firmware,
    } as AgentConfig['firmware'];
  }

  #powerCut(): void {
    this.#boots += 1;
    this.clock.bootId = `boot-${this.#boots}`;
  }

  async #serveRequests(mortal: MortalFiles, stop: AbortController, powerCut: boolean): Promise<void> {
    // Each request starts a helper of its own: after the one that was killed the next lives.
    let helper = mortal;
    while (!stop.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (helper.isDead) helper = new MortalFiles(this.root);
      if (!(await systemUpdateFiles.list(this.paths.firmware)).includes(REQUEST_NAME)) continue;
      this.helperWasAsked = true;
      const gate = Promise.withResolvers<void>();
      this.clock.gate = gate.promise;
      await answerRequest(this.#helperDeps(helper, stop), stop.signal).catch(() => undefined);
      gate.resolve();
      if (mortal.isDead && powerCut) stop.abort();
    }
  }

  #helperDeps(mortal: MortalFiles, stop: AbortController) {
    return {
      files: mortal.files,
      paths: this.paths,
      settingsFolder: join(this.root, 'etc/turnstone'),
      arch: process.arch,
      selfTest: (folder: string) =>
        mortal.change('self-test', folder, async () => {
          const { release } = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as { release: string };
          const complaint = this.#options.manners?.[release]?.selfTest;
          if (complaint !== undefined) throw new Error(complaint);
        }),
      restartAgent: () => mortal.change('restart', this.root, async () => stop.abort()),
      reboot: () => mortal.change('reboot', this.root, async () => stop.abort()),
      configuration: { configure: async () => {}, settle: async () => {}, isOnTrial: async () => false },
      clock: this.clock,
      log: silentLog,
    };
  }

  #deps(version: string, mortal: MortalFiles, manners: ReleaseManners, stop: AbortController): UpdaterDeps {
    return {
      kind: 'firmware',
      config: this.config(),
      files: mortal.files,
      paths: this.paths,
      clock: this.clock,
      log: silentLog,
      arch: process.arch,
      release: {
        runningVersion: version,
        vitals: () => this.#vitals(version, manners),
        requestRestart: () => stop.abort(),
      },
      deviceApi: {
        getAttributes: async () => ({ client: {}, shared: this.offer(), empty: false }),
        getFirmware: async ({ chunk = 0, sizeBytes = 0 }) => this.#serve(chunk, sizeBytes),
      },
      getUrl: async () => {
        throw new Error('no file lies elsewhere');
      },
      report: (values) => mortal.change('report', this.root, async () => void this.reported.push({ ...values })),
      runHandler: async () => {},
      newId: () => crypto.randomUUID(),
      locked: () => false,
      onWait: () => {},
    };
  }

  #vitals(version: string, manners: ReleaseManners): Vitals {
    const reachable = this.clock.monotonicMs() >= (this.#options.linkIsDownForHours ?? 0) * 3_600_000;
    const uploaded = manners.neverUploads !== true && reachable;
    if (uploaded && !this.uploads.includes(version)) this.uploads.push(version);
    return {
      uploaded,
      reachable,
      ...(manners.fault === undefined ? {} : { fault: manners.fault }),
    };
  }

  #serve(chunk: number, sizeBytes: number): FirmwareBody {
    if (!Number.isInteger(chunk)) throw new Error(`there is no chunk ${chunk}`);
    this.chunksServed += 1;
    const { bytes } = this.#options.image;
    const part = sizeBytes === 0 ? bytes : bytes.subarray(chunk * sizeBytes, (chunk + 1) * sizeBytes);
    return {
      lengthBytes: part.length,
      stream: (async function* () {
        yield part;
      })(),
    };
  }

  async #install(version: string): Promise<void> {
    const folder = join(this.paths.home, 'releases', version);
    for (const [path, content] of makeImage({ release: version }).files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
      await chmod(join(folder, path), 0o755);
    }
    await mkdir(this.paths.guard, { recursive: true });
    await mkdir(this.paths.firmware, { recursive: true });
    await mkdir(join(this.root, 'etc/turnstone/trusted-keys'), { recursive: true });
    await mkdir(join(this.root, 'bin'));
    await writeFile(join(this.root, 'bin/systemctl'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    await writeFile(join(this.root, 'etc/turnstone/trusted-keys/release.pem'), this.keys.publicPem);
    await writeFile(join(this.root, 'etc/turnstone/turnstone.yaml'), 'version: 1\n');
    await systemUpdateFiles.link(join('releases', version), join(this.paths.home, 'current'));
  }
}

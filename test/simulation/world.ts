/**
 * A world in one process: the real agent on a board, a disk, a network and a platform that are all made here, in a time that passes as fast as
 * it can be told. Everything that happens comes from the seed.
 */
import type { AgentConfig } from '../../src/config/schema/agent-config.ts';
import type { TelemetryEntry } from '../../src/outbox/format/telemetry-entry.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { MemoryFiles } from '../support/memory-files.ts';
import { Afar } from './afar.ts';
import { AttachedDevice } from './attached.ts';
import { expectAttached } from './attached-devices.ts';
import { BoardClock } from './board-clock.ts';
import { Boot } from './boot.ts';
import { Boots } from './boots.ts';
import { Chance } from './chance.ts';
import { Configuration } from './configuration.ts';
import type { Durable } from './durable.ts';
import type { EquipmentOptions } from './equipment.ts';
import { KEY_SWITCH } from './equipment.ts';
import { Hindrances } from './hindrances.ts';
import { Identity } from './identity.ts';
import { Life } from './life.ts';
import { type Fill, Lives } from './lives.ts';
import { Network } from './network.ts';
import { PageReader } from './page-reader.ts';
import { Pins } from './pins.ts';
import { Rig } from './rig.ts';
import { RootSide } from './root-side.ts';
import { drawnApart, makeSite, PROVISION_SECRET, RUN_FOLDER, readFrom, type Site } from './site.ts';
import { Story } from './story.ts';
import { settled, Timeline } from './timeline.ts';
import { WallClock } from './wall-clock.ts';
import { Words } from './words.ts';

/** systemd's RestartSec, and how long a board takes to boot. */
export const RESTART_AFTER_MS = 10_000;
export const BOOT_TAKES_MS = 15_000;

/** The card, with what others have on it. */
const DISK_BYTES = 1e9;

export class World {
  readonly chance: Chance;
  readonly timeline: Timeline;
  readonly story: Story;
  readonly network: Network;
  readonly disk = new MemoryFiles({ memoryFolders: [RUN_FOLDER], keepsChanges: false });
  readonly site: Site;
  readonly platform: LocalPlatform;
  readonly identity: Identity;
  readonly rig: Rig;
  readonly wall: WallClock;
  readonly boots: Boots;
  readonly hindrances: Hindrances;
  /** When the disk did not take what it was given, at once. */
  readonly diskTroubles: Hindrances;
  readonly lives: Lives;
  readonly configuration: Configuration;
  readonly pins = new Pins(() => this.timeline.nowMs);
  readonly attached: AttachedDevice;
  readonly afar: Afar;
  readonly durable: Durable[] = [];
  readonly words: Words;
  readonly reader: PageReader;
  /** Words of alerts that may stand for good, as only a person can end them. */
  readonly dueAlerts: string[] = [];
  /** When others filled the disk, in the world's time: what gives way then is counted. */
  readonly fills: Fill[] = [];
  /** The most that lay on the disk, of what was looked at each minute. */
  mostDiskBytes = 0;
  /** Chance of the agent, so that its draws shift nothing of the world's. */
  readonly #agentChance: Chance;
  #isPowered = false;
  #clock: BoardClock | undefined;
  /** Only where the configuration may be changed from afar. */
  readonly #root: RootSide | undefined;
  #isStarting = false;

  private constructor(
    chance: Chance,
    parts: {
      readonly site: Site;
      readonly platform: LocalPlatform;
      readonly clock: BoardClock;
      readonly timeline: Timeline;
    },
  ) {
    this.chance = chance;
    this.#agentChance = chance.fork('agent');
    this.site = parts.site;
    const { remote } = parts.site;
    this.configuration = new Configuration(
      parts.site.config,
      parts.timeline,
      remote && { text: remote.text, disk: this.disk, read: readFrom },
    );
    this.afar = new Afar(this);
    this.platform = parts.platform;
    this.timeline = parts.timeline;
    this.story = new Story(() => parts.timeline.nowMs);
    this.hindrances = new Hindrances(parts.timeline);
    this.boots = new Boots(parts.timeline);
    this.attached = new AttachedDevice(parts.timeline, this.disk);
    this.diskTroubles = new Hindrances(parts.timeline);
    this.lives = new Lives(parts.timeline, this.hindrances);
    this.wall = new WallClock({
      timeline: parts.timeline,
      bootedAtMs: () => (this.#isPowered ? this.boots.present.bootedAtMs : undefined),
      onChange: (byMs) => {
        if (this.#clock !== undefined) this.#clock.wrongByMs = byMs;
      },
    });
    this.network = new Network(this.timeline, chance.fork('network'), this.site.attached.length);
    this.network.platform = this.platform;
    this.identity = new Identity(parts.platform, () => parts.timeline.nowMs, parts.site.provisions !== 'not');
    expectAttached(parts.platform, parts.site.attached);
    this.rig = new Rig(parts.site, parts.clock);
    this.disk.capacityBytes = DISK_BYTES;
    // A line that nothing drives stays as it was.
    this.rig.hold(KEY_SWITCH, 0);
    if (remote !== undefined) this.#root = this.#rootSide();
    this.#watchDisk();
    this.words = new Words(this);
    this.reader = new PageReader(this);
  }

  static async make(seed: number, options: EquipmentOptions = {}): Promise<World> {
    const chance = new Chance(seed);
    const site = await makeSite(
      chance.fork('site'),
      Object.keys(options).length > 0 ? { provisions: 'not' } : drawnApart(seed),
      options,
    );
    const timeline = new Timeline();
    const clock = new BoardClock(timeline, {
      boot: new Boot(timeline, 'world'),
      jitter: chance.fork('platform').random,
    });
    const platform = await LocalPlatform.start({ port: 'none', clock });
    return new World(chance, { site, platform, clock, timeline });
  }

  /** On the board's own clock. */
  get monotonicMs(): number {
    return this.#clock?.monotonicMs() ?? 0;
  }

  /** As the platform knows it now. */
  get deviceId(): string {
    return this.identity.deviceId;
  }

  get life(): Life | undefined {
    return this.lives.present;
  }

  /** The power comes: a boot, and the agent in it. */
  powerOn(): void {
    this.#isPowered = true;
    const boot = this.boots.begin();
    this.wall.begin();
    this.timeline.after(BOOT_TAKES_MS, () => this.boots.present === boot && this.startAgent());
  }

  startAgent(): void {
    if (this.life !== undefined || !this.#isPowered || this.#isStarting) return;
    const root = this.#root;
    if (root === undefined) {
      this.#begin();
      return;
    }
    const boot = this.boots.present;
    this.#isStarting = true;
    void root.beforeStart().then(() => {
      if (this.boots.present !== boot || !this.#isPowered) return;
      this.#isStarting = false;
      this.#begin();
    });
  }

  #begin(): void {
    const clock = new BoardClock(this.timeline, {
      boot: this.boots.present,
      wrongByMs: this.wall.wrongByMs,
      jitter: this.#agentChance.random,
    });
    const life = new Life({
      clock,
      boot: this.boots.present,
      files: this.disk,
      randomBytes: (count) => Buffer.from(Array.from({ length: count }, () => this.#agentChance.between(0, 255))),
      network: this.network,
      operations: this.rig.operations,
      later: (port, deliver) => this.rig.later(port, deliver),
      pins: this.pins,
      runProgram: this.attached.run,
      serial: this.identity.serial,
      config: () => {
        // An agent that starts with a wrong file ends, and is to.
        if (this.configuration.fault !== undefined && this.life?.agent !== undefined) throw this.configuration.fault;
        return this.configuration.load();
      },
      configBytes: () => this.configuration.bytes,
      readConfig: (bytes) => this.configuration.read(bytes),
      isSynchronised: () => this.wall.isSynchronised,
      onDurable: (entries) => this.#noteDurable(entries),
      onLog: (line) => this.story.log(line),
    });
    this.#clock = clock;
    // Secrets that it was given are to stay with it.
    this.story.secret = this.configuration.file.config.platform.accessToken?.reveal() ?? PROVISION_SECRET;
    this.story.tell('the agent starts');
    this.lives.begin(life, (how) => {
      this.story.tell(`the agent ended: ${how}`);
      void this.#root?.afterEnd(how === 'stopped' ? 0 : 1);
      this.timeline.after(RESTART_AFTER_MS, () => this.startAgent());
    });
  }

  /** SIGKILL; systemd starts it again. */
  killAgent(): void {
    this.#end('kill');
    void this.#root?.afterEnd(137);
    this.timeline.after(RESTART_AFTER_MS, () => this.startAgent());
  }

  /** SIGTERM; whoever stopped it starts it again after a while. */
  stopAgent(): void {
    this.story.tell('the agent is told to stop');
    this.life?.stop();
  }

  /**
   * The power goes, and comes back later: of what was not synced each sector is there in a share of `kept`, and pins fall to low.
   * @returns whether it was on.
   */
  cutPower(offMs: number, kept = 0.5): boolean {
    // It is off already: who waits for it waits no longer than before.
    if (!this.#isPowered) return false;
    this.#end('the power goes');
    this.#isPowered = false;
    this.wall.cut(this.boots.present.bootedAtMs);
    this.#isStarting = false;
    this.#root?.cutPower();
    this.disk.cutPower(() => this.chance.happens(kept));
    if (this.#root !== undefined) this.afar.look();
    this.rig.cutPower(this.timeline.nowMs);
    this.timeline.after(offMs, () => {
      this.story.tell('the power comes back');
      this.powerOn();
    });
    return true;
  }

  /** Every movement of a line, oldest first. */
  movesOf(line: string): readonly { readonly atMs: number; readonly on: boolean }[] {
    return this.rig.movesOf(line);
  }

  /** SIGHUP. */
  reload(): void {
    void this.life?.agent?.reload();
  }

  /** The configuration's file is changed and read again, now and when the returned function is called. */
  reconfigure(change: (config: AgentConfig) => AgentConfig): () => void {
    const takeBack = this.configuration.change(change);
    this.reload();
    return () => {
      takeBack();
      this.reload();
    };
  }

  /** How much of that time nobody could have switched anything. */
  hinderedMs(fromMs: number, untilMs: number): number {
    return this.hindrances.within(fromMs, untilMs);
  }

  async close(): Promise<void> {
    this.#end('the world ends');
    await settled();
    await this.platform.close();
  }

  #end(what: string): void {
    this.story.tell(what);
    this.lives.kill();
  }

  #rootSide(): RootSide {
    const { timeline, disk, story, afar } = this;
    return new RootSide({
      timeline,
      disk,
      story,
      clock: () =>
        new BoardClock(timeline, { boot: this.boots.present, wrongByMs: this.wall.wrongByMs, jitter: () => 0 }),
      isPowered: () => this.#isPowered,
      reload: () => this.reload(),
      restart: () => this.stopAgent(),
      onStep: () => afar.look(),
      onRenewal: (how) => afar.renewed(how),
    });
  }

  #watchDisk(): void {
    this.mostDiskBytes = Math.max(this.mostDiskBytes, this.disk.usedBytes);
    this.timeline.after(60_000, () => this.#watchDisk());
  }

  #noteDurable(entries: readonly TelemetryEntry[]): void {
    for (const entry of entries)
      this.durable.push({
        entry,
        takenAtMs: this.boots.trueTimeOf(entry.bootId, entry.monotonicMs),
        toldAtMs: this.timeline.nowMs,
      });
  }
}

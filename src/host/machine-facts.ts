/** Facts that the kernel and systemd give about this machine, for people who ask why it does not work. Unknown ones are left out. */
import { readdir, readFile, readlink, realpath, stat, statfs } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Clock } from './clock.ts';
import { runProgram } from './run-program.ts';

export interface MachineUser {
  readonly name: string;
  readonly uid: number;
  readonly groupIds: readonly number[];
}

export interface FileFacts {
  readonly uid: number;
  readonly gid: number;
  /** Permission bits. */
  readonly mode: number;
  /** The group's name, or its number. */
  readonly group: string;
}

export interface UnitFacts {
  /** `loaded`, `not-found` … */
  readonly load: string;
  /** `active`, `inactive`, `failed` … */
  readonly active: string;
  /** `enabled`, `disabled` … */
  readonly enabled: string;
  /** Why it ended last: `success`, `exit-code`, `watchdog` … */
  readonly result: string;
  readonly restarts: number;
  readonly exitCode: number;
  readonly watchdogMs: number;
  /** Files that are read after the unit's own. */
  readonly dropIns: readonly string[];
  readonly user: string;
}

export interface MountFacts {
  readonly device: string;
  readonly type: string;
  readonly readOnly: boolean;
  /** Seconds between commits of the journal, where the mount says so; the kernel's 5 s otherwise. */
  readonly commitS?: number;
  /** Errors that ext4 has counted since it was made or checked. */
  readonly errors?: number;
}

/** Wear of flash memory. */
export interface StorageWear {
  /** In steps of 10, up to which its life is used; 110 is past its end. Absent where the chip does not say. */
  readonly usedPercent: number | undefined;
  /** Spare blocks for those that fail: `few` with 80 % used, `nearly-none` with 90 %. */
  readonly spares: (typeof SPARES)[number];
  /** Month of manufacture of the chip whose life is used most, UTC epoch ms of its first day; absent where it does not say. */
  readonly madeAtMs?: number;
}

/** Values of PRE_EOL_INFO, from 1. */
const SPARES = ['enough', 'few', 'nearly-none'] as const;

/** Process that has a file open. */
export interface FileHolder {
  readonly path: string;
  readonly pid: number;
  /** Name of its program, up to 15 characters. */
  readonly name: string;
  /** Command line; it may hold secrets of that program, so it is compared and never shown. */
  readonly command: string;
  /** Its control group (cgroups(7)), which names the systemd unit; empty where the kernel has none. */
  readonly group: string;
}

const UNIT_PROPERTIES = [
  'LoadState',
  'ActiveState',
  'UnitFileState',
  'Result',
  'NRestarts',
  'ExecMainStatus',
  'WatchdogUSec',
  'User',
  'DropInPaths',
];
const UNIT_DEADLINE_MS = 3_000;
/** Enough to meet what a command of root's left in a state folder. */
const MAX_LISTED = 2_000;
/** More processes than any gateway runs. */
const MAX_PROCESSES = 5_000;
const MICROSECONDS: Readonly<Record<string, number>> = { us: 1, ms: 1e3, s: 1e6, min: 60e6, h: 3_600e6 };

export class MachineFacts {
  readonly #clock: Clock;
  readonly #root: string;

  /** `root` is the file system's root; tests have their own. */
  constructor(deps: { readonly clock: Clock; readonly root?: string }) {
    this.#clock = deps.clock;
    this.#root = deps.root ?? '/';
  }

  /** The user of that name, or the one who asks. */
  async user(name: string = userInfo().username): Promise<MachineUser | undefined> {
    const entry = (await this.#rows('etc/passwd')).find(([known]) => known === name);
    if (entry === undefined) return undefined;
    const own = Number(entry[3]);
    const groups = (await this.#rows('etc/group')).filter(([, , , members]) => members?.split(',').includes(name));
    return { name, uid: Number(entry[2]), groupIds: [...new Set([own, ...groups.map(([, , id]) => Number(id))])] };
  }

  /** Undefined when there is no such file. */
  async file(path: string): Promise<FileFacts | undefined> {
    const found = await stat(join(this.#root, path)).catch(() => undefined);
    if (found === undefined) return undefined;
    const group = (await this.#rows('etc/group')).find(([, , id]) => Number(id) === found.gid);
    return { uid: found.uid, gid: found.gid, mode: found.mode & 0o7777, group: group?.[0] ?? String(found.gid) };
  }

  /** Lists a folder and its folders, and only a part where there is more than anybody looks through. */
  async under(folder: string): Promise<readonly string[]> {
    const found: string[] = [];
    const folders = [folder];
    for (let next = folders.shift(); next !== undefined && found.length < MAX_LISTED; next = folders.shift()) {
      const entries = await readdir(join(this.#root, next), { withFileTypes: true }).catch(() => []);
      for (const entry of entries.slice(0, MAX_LISTED - found.length)) {
        const path = join(next, entry.name);
        found.push(path);
        if (entry.isDirectory()) folders.push(path);
      }
    }
    return found;
  }

  /**
   * Lists the processes that have any of these files open, as `/proc/PID/fd` shows it (proc(5)). A user sees its own processes, root sees all.
   * Links are followed; a path that leads nowhere has no holder.
   */
  async holders(paths: readonly string[]): Promise<readonly FileHolder[]> {
    const real = new Map<string, string>();
    for (const path of paths) real.set(await realpath(join(this.#root, path)).catch(() => path), path);
    const processes = (await readdir(join(this.#root, 'proc')).catch((): string[] => [])).filter((name) =>
      /^\d+$/.test(name),
    );
    const found: FileHolder[] = [];
    for (const pid of processes.slice(0, MAX_PROCESSES))
      for (const path of await this.#opened(pid, real)) {
        const told = async (file: string): Promise<string> => (await this.#read(`proc/${pid}/${file}`)) ?? '';
        const name = await told('comm');
        found.push({ path, pid: Number(pid), name, command: await told('cmdline'), group: await told('cgroup') });
      }
    return found;
  }

  /** Returns the space that an unprivileged process may still use, and all there is; undefined when there is no such folder. */
  async disk(folder: string) {
    const found = await statfs(join(this.#root, folder)).catch(() => undefined);
    if (found === undefined) return undefined;
    const { bavail, blocks, bsize, ffree, files } = found;
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize, freeFiles: ffree, totalFiles: files };
  }

  /** The mount that holds a folder. */
  async mount(folder: string): Promise<MountFacts | undefined> {
    const mounts = (await this.#lines('proc/self/mounts')).map((line) => line.split(' '));
    const holds = (point: string): boolean => point === '/' || folder === point || folder.startsWith(`${point}/`);
    // The last of the longest: later mounts cover earlier ones.
    const [device = '', , type = '', options = ''] =
      mounts
        .filter(([, point = '']) => holds(point))
        .sort(([, a = ''], [, b = '']) => a.length - b.length)
        .at(-1) ?? [];
    if (type === '') return undefined;
    const errors =
      type === 'ext4' ? await this.#read(`sys/fs/ext4/${device.replace(/^\/dev\//, '')}/errors_count`) : undefined;
    const commit = /(?:^|,)commit=(\d+)/.exec(options)?.[1];
    return {
      device,
      type,
      readOnly: options.split(',').includes('ro'),
      ...(commit === undefined ? {} : { commitS: Number(commit) }),
      ...(errors === undefined ? {} : { errors: Number(errors) }),
    };
  }

  /**
   * Returns how far eMMC chips are worn, as they report it (JEDEC JESD84-B51, DEVICE_LIFE_TIME_EST and PRE_EOL_INFO), the worst of each. Undefined
   * where none says: SD cards do not, and NVMe disks have no file for it.
   */
  async storageWear(): Promise<StorageWear | undefined> {
    const disks = (await readdir(join(this.#root, 'sys/block')).catch((): string[] => [])).filter((disk) =>
      disk.startsWith('mmcblk'),
    );
    const told = await Promise.all(
      disks.map(async (disk) => ({
        disk,
        life: await this.#worstStep(disk, 'life_time'),
        spares: await this.#worstStep(disk, 'pre_eol_info'),
      })),
    );
    const [worn] = told.sort((one, other) => other.life - one.life);
    const spares = SPARES[Math.max(0, ...told.map((one) => one.spares)) - 1];
    if (worn === undefined || (worn.life === 0 && spares === undefined)) return undefined;
    return {
      usedPercent: worn.life === 0 ? undefined : worn.life * 10,
      spares: spares ?? 'enough',
      madeAtMs: worn.life === 0 ? undefined : await this.#madeAt(worn.disk),
    };
  }

  /** Returns the largest step in a file of a chip; 0 says that it is not told. */
  async #worstStep(disk: string, file: string): Promise<number> {
    const text = (await this.#read(`sys/block/${disk}/device/${file}`)) ?? '';
    return Math.max(0, ...text.split(/\s+/).map((step) => Number.parseInt(step, 16) || 0));
  }

  /** Returns the first day of the month of manufacture in the chip's register CID, which the kernel shows as `03/2023`. */
  async #madeAt(disk: string): Promise<number | undefined> {
    const [, month, year] = /^(\d\d)\/(\d{4})$/.exec((await this.#read(`sys/block/${disk}/device/date`)) ?? '') ?? [];
    return month === undefined || year === undefined ? undefined : Date.UTC(Number(year), Number(month) - 1);
  }

  async memory(): Promise<{ readonly availableBytes: number; readonly totalBytes: number } | undefined> {
    const text = await this.#read('proc/meminfo');
    const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text ?? '')?.[1]);
    const [available, total] = [kilobytes('MemAvailable'), kilobytes('MemTotal')];
    return Number.isFinite(available) && Number.isFinite(total)
      ? { availableBytes: available * 1024, totalBytes: total * 1024 }
      : undefined;
  }

  /** Tells if there is a route to anywhere, by IPv4 or IPv6. */
  async hasDefaultRoute(): Promise<boolean> {
    const four = (await this.#lines('proc/net/route')).some((line) =>
      /^\S+\s+00000000\s+[0-9A-F]{8}\s+0003\s.*\s00000000\s/.test(line),
    );
    const six = (await this.#lines('proc/net/ipv6_route')).some(
      (line) => line.startsWith(`${'0'.repeat(32)} 00 `) && !line.endsWith(' lo'),
    );
    return four || six;
  }

  /** Undefined where systemd does not answer. */
  async unit(name: string, signal: AbortSignal): Promise<UnitFacts | undefined> {
    const args = ['show', name, `--property=${UNIT_PROPERTIES.join(',')}`];
    const outcome = await runProgram(
      { file: 'systemctl', args, deadlineMs: UNIT_DEADLINE_MS },
      this.#clock,
      signal,
    ).catch(() => undefined);
    if (outcome?.exitCode !== 0) return undefined;
    return parseUnit(outcome.stdout);
  }

  /** Which of the files a process has open; each once. */
  async #opened(pid: string, real: ReadonlyMap<string, string>): Promise<ReadonlySet<string>> {
    const folder = join(this.#root, 'proc', pid, 'fd');
    const opened = new Set<string>();
    for (const descriptor of (await readdir(folder).catch((): string[] => [])).slice(0, MAX_LISTED)) {
      const path = real.get(await readlink(join(folder, descriptor)).catch(() => ''));
      if (path !== undefined) opened.add(path);
    }
    return opened;
  }

  async #rows(path: string): Promise<readonly string[][]> {
    return (await this.#lines(path)).map((line) => line.split(':'));
  }

  async #lines(path: string): Promise<readonly string[]> {
    return ((await this.#read(path)) ?? '').split('\n').filter((line) => line !== '');
  }

  async #read(path: string): Promise<string | undefined> {
    const text = await readFile(join(this.#root, path), 'utf8').catch(() => '');
    return text.trim() === '' ? undefined : text.trim();
  }
}

/** The answer of `systemctl show`. */
export function parseUnit(text: string): UnitFacts {
  const said = new Map(
    text
      .split('\n')
      .map((line): [string, string] => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const word = (property: string): string => said.get(property) ?? '';
  return {
    load: word('LoadState'),
    active: word('ActiveState'),
    enabled: word('UnitFileState'),
    result: word('Result'),
    restarts: Number(word('NRestarts')),
    exitCode: Number(word('ExecMainStatus')),
    watchdogMs: microseconds(word('WatchdogUSec')) / 1_000,
    user: word('User'),
    dropIns: word('DropInPaths')
      .split(' ')
      .filter((path) => path !== ''),
  };
}

/** systemd prints times as `1min 30s`, or `infinity`. */
function microseconds(text: string): number {
  return [...text.matchAll(/(\d+(?:\.\d+)?)(us|ms|s|min|h)/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * (MICROSECONDS[unit ?? ''] ?? 0),
    0,
  );
}

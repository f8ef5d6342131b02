/**
 * Processes of a program that runs for long: its session, and whatever carries its mark in the environment. A child that makes a session of its own, as
 * daemons do, keeps the mark. One that wipes its environment too is not found.
 */
import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';

/** Variable with the mark; nothing secret is in it. */
export const MARK = 'TURNSTONE_PROGRAM';

export interface FamilyName {
  /** The program's pid, which leads its session. */
  readonly session: number | undefined;
  readonly mark: string;
}

/** Place of the session and of the start time in /proc/PID/stat, behind the name in brackets (proc_pid_stat(5)). */
const STATE = 0;
const SESSION = 3;
const START_TIME = 19;
/** A fork that goes on while it is ended is met by another look. */
const MAX_LOOKS = 10;

/** Returns the mark of a program of this process: no other agent and no later one has the same. */
export async function markOf(count: number): Promise<string> {
  return `${await ownPrefix()}:${count}`;
}

/** Namespace, pid and start time of this process. */
async function ownPrefix(): Promise<string> {
  const { startTime } = (await statOf(process.pid)) ?? { startTime: '0' };
  return `${await pidNamespace()}:${process.pid}:${startTime}`;
}

/** Returns processes of the session, or with the mark; none that have ended and only wait to be collected. */
export async function familyOf({ session, mark }: FamilyName): Promise<readonly number[]> {
  const found = await Promise.all(
    (await pids()).map(async (pid) => {
      const stat = await statOf(pid);
      if (stat === undefined || stat.isDead) return [];
      if (session !== undefined && stat.session === session) return [pid];
      return (await marksIn(pid)).includes(mark) ? [pid] : [];
    }),
  );
  return found.flat();
}

/** SIGKILL for all of the family, until none is left. Resolves with how many there were. Never rejects. */
export async function endFamily(name: FamilyName): Promise<number> {
  const ended = new Set<number>();
  for (let look = 0; look < MAX_LOOKS; look += 1) {
    const family = await familyOf(name).catch(() => []);
    if (family.length === 0) break;
    for (const pid of family) {
      ended.add(pid);
      kill(pid);
    }
  }
  return ended.size;
}

/** SIGKILL for programs whose agent is no more: it was killed, and they were not. Resolves with their number. Never rejects. */
export async function endOrphans(): Promise<number> {
  const [all, namespace] = await Promise.all([pids().catch(() => []), pidNamespace()]);
  let count = 0;
  for (const pid of all) {
    for (const mark of await marksIn(pid)) {
      const [space, agent, startTime] = mark.split(':');
      if (space !== namespace || (await statOf(Number(agent)))?.startTime === startTime) continue;
      kill(pid);
      count += 1;
    }
  }
  return count;
}

/** Returns the memory that these hold, bytes; what has ended holds none. Pages that they share count for each. */
export function memoryOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + residentBytes(pid), 0);
}

/** The kernel answers from its memory: a turn of the thread pool costs ten times as much. */
function residentBytes(pid: number): number {
  try {
    return Number(/^VmRSS:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1_024;
  } catch {
    return 0;
  }
}

async function pids(): Promise<readonly number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
}

async function statOf(pid: number) {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // Its name may have blanks and brackets.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (fields.length <= START_TIME) return undefined;
  const isDead = fields[STATE] === 'Z' || fields[STATE] === 'X';
  return { isDead, session: Number(fields[SESSION]), startTime: fields[START_TIME] };
}

/** Marks in a process's environment; none in one that cannot be read, which belongs to somebody else. */
async function marksIn(pid: number): Promise<readonly string[]> {
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
  if (!environment.includes(`${MARK}=`)) return [];
  const beginning = `${MARK}=`;
  return environment.split('\0').flatMap((one) => (one.startsWith(beginning) ? [one.slice(beginning.length)] : []));
}

async function pidNamespace(): Promise<string> {
  const link = await readlink('/proc/self/ns/pid').catch(() => '');
  return /\d+/.exec(link)?.[0] ?? '0';
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

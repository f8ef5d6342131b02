/**
 * Test files of the rooms share a process, and what each has imported. So that none can disturb the next, a file fails that leaves the process in
 * another state than it found: globals, environment, folder, mask, listeners, or anything that would still keep the process alive.
 */
import { afterAll, beforeAll, expect } from 'vitest';
// One opens the standard streams, the other puts a registry on globalThis; commands load them in the midst of a test.
import 'commander';
import 'zod';

/** Objects watched for replaced members: a clock or a die that a test has put in place of the real one, for instance. */
const WATCHED = { globalThis, Math, Date, JSON, Promise, process, console, performance } as const;
/** Members that vitest itself replaces from file to file, and one that a package of the MQTT client leaves. */
const GIVES_WAY = /^(globalThis|process)\.(__vitest_|expect$|env$|exitCode$|report$|regeneratorRuntime$)/;
/** How long what a test has closed may take to be gone. */
const PATIENCE_MS = 2_000;

interface Slate {
  readonly members: ReadonlyMap<string, unknown>;
  readonly environment: NodeJS.ProcessEnv;
  readonly folder: string;
  readonly mask: number;
  readonly listeners: Readonly<Record<string, number>>;
  readonly alive: readonly string[];
}

let before: Slate;

beforeAll(() => {
  before = look();
});

afterAll(async () => {
  let after = look();
  for (
    const until = performance.now() + PATIENCE_MS;
    leftOpen(after).length > 0 && performance.now() < until;
    after = look()
  )
    await new Promise((resolve) => setTimeout(resolve, 5));
  const names = new Set([...before.members.keys(), ...after.members.keys()]);
  const replaced = [...names].filter(
    (name) => !GIVES_WAY.test(name) && !Object.is(before.members.get(name), after.members.get(name)),
  );
  const { environment, folder, mask, listeners } = after;
  expect(
    { leftOpen: leftOpen(after), replaced, environment, folder, mask, listeners },
    'the process, after all tests of this file',
  ).toEqual({
    leftOpen: [],
    replaced: [],
    environment: before.environment,
    folder: before.folder,
    mask: before.mask,
    listeners: before.listeners,
  });
});

function look(): Slate {
  const members = new Map<string, unknown>();
  for (const [owner, object] of Object.entries(WATCHED)) {
    for (const [name, { value, get }] of Object.entries(Object.getOwnPropertyDescriptors(object)))
      members.set(`${owner}.${name}`, value ?? get);
  }
  return {
    members,
    environment: { ...process.env },
    folder: process.cwd(),
    mask: process.umask(),
    listeners: Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)])),
    alive: process.getActiveResourcesInfo(),
  };
}

/** Returns handles that keep the process alive now and did not before. */
function leftOpen({ alive }: Slate): string[] {
  const count = (kinds: readonly string[], kind: string): number => kinds.filter((one) => one === kind).length;
  return alive.filter((kind) => count(alive, kind) > count(before.alive, kind));
}

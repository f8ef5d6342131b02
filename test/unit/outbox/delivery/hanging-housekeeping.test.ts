/** A disk that does not come back from a read keeps no commit waiting: what is new is durable within its age, and somebody is told. */
import { afterEach, describe, expect, it } from 'vitest';
import type { OutboxConfig } from '../../../../src/config/schema/agent-config.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles, type Operation } from '../../../support/memory-files.ts';
import { drain, NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

const MAX_BYTES = 256 * 1024;
let fixture: OutboxFixture;
let files: MemoryFiles;
let outbox: Outbox;

async function open(settings: Partial<OutboxConfig> = {}, blocks = 10): Promise<void> {
  fixture = await OutboxFixture.make({ maxBytes: MAX_BYTES, commitAgeMs: 100, ...settings });
  files = new MemoryFiles({ keepsChanges: false });
  fixture.files = files;
  outbox = await fixture.open();
  for (let block = 0; block < blocks; block += 1) await fixture.commit(outbox, fixture.noise(500, block * 500));
  await fixture.until(outbox.close());
  outbox = await fixture.open();
}
afterEach(() => {
  files.faults = {};
  return fixture.remove();
});

const segments = (): string[] => files.paths.filter((path) => path.endsWith('.seg'));

/** The disk does not come back from these until the returned function is called. */
function hang(path: string | RegExp, operations: readonly Operation[] = ['read']): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const isMeant = (one: string): boolean => (typeof path === 'string' ? one === path : path.test(one));
  const heal = files.addFaults({
    delay: (operation, one) => (operations.includes(operation) && isMeant(one) ? promise : undefined),
  });
  return async () => {
    heal();
    resolve();
    await fixture.clock.advance(1_000);
  };
}

/** The outbox as it is on the disk now, which answers again. */
async function afterKill(): Promise<Outbox> {
  const now = new MemoryFiles({ keepsChanges: false });
  for (const path of files.paths) now.put(path, files.contentOf(path));
  fixture.files = now;
  return fixture.open();
}

/** Somebody looks at a plot. */
async function look(): Promise<void> {
  void (async () => {
    for await (const _entry of outbox.read({}, new AbortController().signal));
  })();
  await fixture.clock.advance(0);
}

/** Appends now and then for so many minutes; the longest that an append took, and how many were never done. */
async function appending(minutes: number, entries = 1): Promise<{ maxMs: number; undone: number }> {
  let maxMs = 0;
  let undone = 0;
  for (let at = 0; at < minutes * 6; at += 1) {
    const sinceMs = fixture.clock.monotonicMs();
    undone += 1;
    outbox.append(fixture.noise(entries, at * entries)).then(
      () => {
        undone -= 1;
        maxMs = Math.max(maxMs, fixture.clock.monotonicMs() - sinceMs);
      },
      () => {},
    );
    await fixture.clock.advance(10_000);
  }
  return { maxMs, undone };
}

describe('a read that hangs', () => {
  it('keeps no commit waiting, nor the delivery state, while minutes of housekeeping pass, and is told', async () => {
    await open();
    const batch = await outbox.peek('backlog', NO_LIMITS);
    const heal = hang(segments()[0] as string);
    await look();
    await fixture.clock.advance(59_000);
    expect(outbox.status().hangingReadMs).toBeUndefined();
    if (batch !== undefined) await outbox.acknowledge(batch);
    expect(await appending(10)).toEqual({ maxMs: 96, undone: 0 });
    expect(outbox.status().hangingReadMs).toBe(659_000);
    // A kill now: what was delivered is known.
    expect((await afterKill()).status().heldEntries).toBe(60);
    await heal();
    expect(outbox.status().hangingReadMs).toBeUndefined();
  });

  it.each<[string, RegExp, () => Promise<unknown>]>([
    ['the ledger', /ledger-/, () => outbox.readLedger({})],
    ['what was refused', /rejected/, () => outbox.resendRejected(() => true)],
  ])('of %s keeps nobody waiting but who asked for it', async (_name, path, ask) => {
    await open({}, 1);
    const batch = await outbox.peek('backlog', NO_LIMITS);
    const [first] = [...(batch?.entries ?? [])];
    if (first === undefined || batch === undefined) expect.fail('nothing waits');
    await outbox.reject(first, 'no');
    await outbox.acknowledge(batch);
    await fixture.clock.advance(2 * 3_600_000);
    let hangs = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    // What was refused is read to be appended, and once more when it was.
    const isMeant = (): boolean => !path.test('rejected.jsonl') || outbox.status().heldEntries > 0;
    const heal = files.addFaults({
      delay: (operation, one) =>
        operation === 'read' && path.test(one) && isMeant() && ++hangs > 0 ? promise : undefined,
    });
    const asked = ask();
    expect(await appending(2)).toEqual({ maxMs: 96, undone: 0 });
    expect(hangs).toBeGreaterThan(0);
    heal();
    resolve();
    await fixture.until(asked);
  });

  it('does not keep what was delivered from being written at the end', async () => {
    await open();
    const batch = await outbox.peek('backlog', NO_LIMITS);
    hang(segments()[0] as string);
    await look();
    await fixture.clock.advance(61_000);
    if (batch !== undefined) await outbox.acknowledge(batch);
    const closed = outbox.close();
    await fixture.clock.advance(10_000);
    await closed;
    expect((await afterKill()).status().heldEntries).toBe(0);
  });
});

it('a ledger that is read while it is written counts everything once', async () => {
  await open({}, 1);
  await drain(outbox);
  const sum = async (): Promise<number> => (await outbox.readLedger({})).reduce((all, { count }) => all + count, 0);
  await fixture.clock.advance(3_600_000);
  const heal = hang(/ledger-/, ['sync']);
  await fixture.commit(outbox, fixture.noise(100));
  await drain(outbox);
  const next = fixture.clock.advance(3_700_000);
  await next;
  expect(await sum()).toBe(600);
  await heal();
  expect(await sum()).toBe(600);
  const slow = hang(/ledger-/);
  await fixture.commit(outbox, fixture.noise(100));
  await drain(outbox);
  const before = sum();
  await fixture.clock.advance(3_700_000);
  await slow();
  expect(await before).toBe(700);
});

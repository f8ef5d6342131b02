/** The platform's manners that devices stumble over (wire-facts.md, "Long polls"), one by one, with a real relay at the end. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RemoteBench } from '../support/remote-bench.ts';

const RELAY = 17;
const isPoll = (method: string, path: string): boolean => method === 'GET' && /\/rpc(\?|$)/.test(path);
const isReply = (method: string, path: string): boolean => method === 'POST' && /\/rpc\/\d+$/.test(path);
const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let bench: RemoteBench;
let risingsBefore: number;
beforeAll(async () => {
  bench = await RemoteBench.open({ platform: { stalePollMs: 200 }, agent: { pollTimeout: '1s' } });
  await bench.startAgent();
});
beforeEach(async () => {
  risingsBefore = await bench.moves(RELAY, 1);
});
afterAll(() => bench.close());

const risings = async (): Promise<number> => (await bench.moves(RELAY, 1)) - risingsBefore;

const pulse = (durationMs: number, timeoutMs = 10_000): ReturnType<RemoteBench['rpc']> =>
  bench.rpc('pulse', { name: 'relay1', durationMs }, timeoutMs);

describe('server-side RPC', () => {
  it('is answered from the first id on, which is 0', async () => {
    expect((await pulse(5)).reply.result).toMatchObject({ name: 'relay1' });
    expect(await risings()).toBe(1);
  });

  it('is executed once when its reply is lost again and again, and answered in the end', async () => {
    bench.platform.faults.plant({ kind: 'answer', status: 503 }, { times: 2, matches: isReply });
    bench.platform.faults.plant({ kind: 'drop' }, { times: 2, matches: isReply });
    expect((await pulse(5)).reply.result).toMatchObject({ name: 'relay1' });
    expect(await risings()).toBe(1);
  });

  it('is executed once when it is handed out again after the reply was stored but its answer lost', async () => {
    bench.platform.faults.plant({ kind: 'lose-answer' }, { matches: isReply });
    expect((await pulse(5)).status).toBe(200);
    expect((await pulse(6)).status).toBe(200);
    expect(await risings()).toBe(2);
  });

  it('moves for an id that has come again with other content, after the server has restarted', async () => {
    expect((await pulse(5)).status).toBe(200);
    expect((await pulse(6)).status).toBe(200);
    bench.platform.rpc.restart();
    expect((await pulse(7)).status).toBe(200);
    expect((await pulse(8)).status).toBe(200);
    expect(await risings()).toBe(4);
  });

  it('gets no old answer from before a restart of the server under the same id, moves nothing, and does when it is given again', async () => {
    bench.platform.rpc.restart();
    expect((await pulse(33)).reply.result).toMatchObject({ name: 'relay1' });
    bench.platform.rpc.restart();
    expect((await pulse(33)).reply.error?.code).toBe('outcome-unknown');
    expect(await risings()).toBe(1);
    expect((await pulse(33)).reply.result).toMatchObject({ name: 'relay1' });
    expect(await risings()).toBe(2);
  });

  it('is taken in order when several wait, each once', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => pulse(n + 1)));
    expect(outcomes.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(await risings()).toBe(20);
  });

  it('goes on after polls that were cut with 503, 504 and 408', async () => {
    for (const status of [503, 504, 408]) bench.platform.faults.plant({ kind: 'answer', status }, { matches: isPoll });
    await delay(3_000);
    expect((await pulse(5)).status).toBe(200);
  });

  it('comes through within the poll time and 10 s when a connection is dead', async () => {
    bench.platform.faults.plant({ kind: 'hang' }, { times: 1, matches: isPoll });
    // Until the poll that stands now has ended, and the one after it hangs.
    await delay(2_500);
    expect(bench.platform.faults.left).toBe(0);
    const startedMs = performance.now();
    expect((await pulse(5, 30_000)).status).toBe(200);
    // The poll takes 1 to 1.25 s here, and has hung for a while already.
    expect(performance.now() - startedMs).toBeLessThan(11_250);
  }, 60_000);
});

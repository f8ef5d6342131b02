/**
 * A platform that does everything wrong, on every path at once: the agent lives, stays calm and small, moves nothing, and gives its token
 * to no one else. `CAMPAIGN=full` watches each for longer.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, it } from 'vitest';
import { RemoteBench } from '../support/remote-bench.ts';

const WATCH_MS = process.env.CAMPAIGN === 'full' ? 3_000 : 1_000;
/** Time of its start and the first commands, which may come at once and are no loop without rest: watched from when they are through, */
const SETTLED_MS = 1_000;
/** as few requests in half a second show, or so many in all: by then the program has its speed, on a machine that is busy elsewhere, too. */
const FEW_REQUESTS = 3;
const MANY_REQUESTS = 1_000;
const MAX_HALF_SECONDS = 30;
/** Share of one core over the time watched. A loop without rest takes all of it. */
const MAX_CPU_SHARE = 0.4;
const MAX_MEMORY_MB = 220;
const TOKEN = 'test-access-token';
const CLOCK_TICKS_PER_S = 100;

/** Answers as a platform of such manners. */
type Behaviour = (request: IncomingMessage, response: ServerResponse, told: Told) => void;

/** Requests of the agent in one test. */
interface Told {
  readonly requests: string[];
  readonly askedElsewhere: string[];
  readonly elsewhereUrl: string;
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
/** A movement, if anything of it were taken for one. */
const PULSE = { method: 'pulse', params: { name: 'relay1', durationMs: 50 } };
const json =
  (body: unknown): Behaviour =>
  (_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** Each is given to polls, reads and replies alike. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  'ids that are text': json({ ...PULSE, id: '1' }),
  'ids that are no whole number': json({ ...PULSE, id: 1.5 }),
  'ids below 0': json({ ...PULSE, id: -1 }),
  'ids past 2^53': json(`{"id":9007199254740993,"method":"pulse","params":{"name":"relay1","durationMs":50}}`),
  'a request without id': json(PULSE),
  'a method that is no text': json({ ...PULSE, id: 1, method: ['pulse'] }),
  'params of the wrong types, in an endless run': counted((id) => ({
    id,
    method: 'pulse',
    params: { name: ['relay1'], durationMs: '50' },
  })),
  'params that are no object, in an endless run': counted((id) => ({
    id,
    method: 'setActuator',
    params: [['name', 'relay1'], true][id % 2],
  })),
  'params out of range, in an endless run': counted((id) => ({
    id,
    method: 'pulse',
    params: { name: 'relay1', durationMs: [0, -5, 1e308, 1e7][id % 4] },
  })),
  'names of what every object has': counted((id) => ({
    id,
    method: ['__proto__', 'constructor', 'toString', 'hasOwnProperty'][id % 4],
    params: {},
  })),
  '__proto__ in params': json('{"id":1,"method":"setActuator","params":{"__proto__":{"name":"relay1","value":true}}}'),
  '__proto__ as an attribute': json(
    '{"shared":{"__proto__":{"relay1Wish":true}},"__proto__":{"shared":{"relay1Wish":true}},"client":{}}',
  ),
  'wishes of the wrong types': json({
    shared: { relay1Wish: 'up', relay2Wish: { value: true, for: '2h' } },
    client: {},
  }),
  'one valid request without end, and replies refused': (request, response, told) => {
    if (request.method === 'POST') response.writeHead(500).end('no');
    else json({ id: 7, method: 'getStatus', params: {} })(request, response, told);
  },
  'empty 200s without delay': (_request, response) => void response.writeHead(200).end(),
  '408 without delay': (_request, response) => void response.writeHead(408).end(),
  'a web page': (_request, response) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>log in</html>'),
  'arrays, numbers, text and null': counted((id) => [[PULSE], 5, 'pulse', null][id % 4]),
  'half of a JSON text': json('{"id":1,"method":"pulse","params":{"name":"relay1"'),
  'JSON 200,000 levels deep': json(`${'[{"a":'.repeat(100_000)}1`),
  'deep params': json(`{"id":1,"method":"getStatus","params":${'['.repeat(20_000)}${']'.repeat(20_000)}}`),
  'a body without end': (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const block = Buffer.alloc(1024 * 1024, 'x');
    const more = (): void => {
      while (!response.destroyed && response.write(block));
    };
    response.on('drain', more);
    more();
  },
  'a body of one byte a time': (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(timer));
  },
  'a redirect to another host': (request, response, { requests, elsewhereUrl }) => {
    response
      .writeHead([301, 302, 307, 308][requests.length % 4] ?? 302, { location: `${elsewhereUrl}${request.url}` })
      .end();
  },
  'cookies and headers without end': (_request, response) => {
    response.writeHead(200, { 'set-cookie': Array(200).fill(`a=${'x'.repeat(2_000)}`) }).end('{}');
  },
};

function counted(body: (id: number) => unknown): Behaviour {
  let id = 0;
  return (request, response, told) => {
    id += 1;
    json(body(id))(request, response, told);
  };
}

/** A platform of such manners, another host, and a board with an agent that asks the first: a test's own, until the next takes them. */
class Scene {
  readonly bench: RemoteBench;
  readonly #hostile: Server;
  readonly #elsewhere: Server;
  #behave: Behaviour = json({});
  #told: Told = { requests: [], askedElsewhere: [], elsewhereUrl: '' };

  private constructor(bench: RemoteBench) {
    this.bench = bench;
    this.#hostile = createServer((request, response) => {
      this.#told.requests.push(`${request.method} ${request.url}`);
      response.on('error', () => {});
      request.resume();
      this.#behave(request, response, this.#told);
    });
    this.#elsewhere = createServer((request, response) => {
      this.#told.askedElsewhere.push(`${request.method} ${request.url}`);
      response.writeHead(200).end(JSON.stringify({ ...PULSE, id: 1 }));
    });
  }

  static async open(): Promise<Scene> {
    const scene = new Scene(await RemoteBench.open());
    for (const server of [scene.#hostile, scene.#elsewhere]) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    return scene;
  }

  /** Starts an agent before this platform. */
  async begin(behave: Behaviour): Promise<Told> {
    this.#behave = behave;
    this.#told = { requests: [], askedElsewhere: [], elsewhereUrl: urlOf(this.#elsewhere) };
    this.bench.agentLog = '';
    await this.bench.startAgent({ platformUrl: urlOf(this.#hostile) });
    return this.#told;
  }

  async close(): Promise<void> {
    for (const server of [this.#hostile, this.#elsewhere]) {
      server.closeAllConnections();
      server.close();
    }
    await this.bench.close();
  }
}

const free: Scene[] = [];
const scenes: Scene[] = [];

async function take(): Promise<Scene> {
  const idle = free.pop();
  if (idle !== undefined) return idle;
  const scene = await Scene.open();
  scenes.push(scene);
  return scene;
}

afterAll(async () => {
  for (const scene of scenes) await scene.close();
});

async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_S;
}

async function memoryMb(pid: number): Promise<number> {
  return Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

async function settled({ requests }: Told): Promise<void> {
  await delay(SETTLED_MS);
  for (let n = 0; n < MAX_HALF_SECONDS; n += 1) {
    const before = requests.length;
    await delay(SETTLED_MS / 2);
    if (requests.length - before <= FEW_REQUESTS || requests.length >= MANY_REQUESTS) return;
  }
}

// Several at once: each waits most of its time, and is judged by what its own agent does.
describe.concurrent('an agent whose platform sends', () => {
  it.for(Object.keys(BEHAVIOURS))('%s: lives, stays calm, and moves nothing', async (name, { expect }) => {
    const scene = await take();
    const { bench } = scene;
    const told = await scene.begin(BEHAVIOURS[name] as Behaviour);
    await settled(told);
    const before = await cpuSeconds(bench.agentPid);
    const watchedFromMs = performance.now();
    await delay(WATCH_MS);
    expect(bench.agentEnd).toBeUndefined();
    const share = ((await cpuSeconds(bench.agentPid)) - before) / ((performance.now() - watchedFromMs) / 1000);
    const peakMb = await memoryMb(bench.agentPid);
    await bench.killAgent();
    const { requests, askedElsewhere } = told;
    console.log(
      JSON.stringify({
        name,
        cpuShare: Math.round(share * 100) / 100,
        peakMb: Math.round(peakMb),
        requests: requests.length,
      }),
    );
    expect(requests.some((request) => request.includes('/rpc'))).toBe(true);
    expect(share).toBeLessThan(MAX_CPU_SHARE);
    expect(peakMb).toBeLessThan(MAX_MEMORY_MB);
    expect(askedElsewhere).toEqual([]);
    expect(bench.agentLog).not.toContain(TOKEN);
    expect((await bench.moves(17, 1)) + (await bench.moves(18, 1))).toBe(0);
    free.push(scene);
  });

  it('a request that is right, at last: moves once, so that the silence above was not deafness', async ({ expect }) => {
    const scene = await take();
    let handedOut = false;
    await scene.begin((request, response, told) => {
      const isPoll = request.method === 'GET' && request.url?.includes('/rpc') === true;
      if (isPoll && !handedOut) {
        handedOut = true;
        json({ ...PULSE, id: 1 })(request, response, told);
      } else if (!isPoll) json({})(request, response, told);
    });
    await delay(1_000);
    expect(await scene.bench.moves(17, 1)).toBe(1);
    await scene.bench.killAgent();
  });
});

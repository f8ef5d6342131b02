/**
 * A technician's first hour with a platform that cannot be reached: whatever the reason is, status, page, log, readiness, metrics and doctor give the
 * same sentence with the same remedy within ten seconds, and nothing is called good.
 */
import { spawn } from 'node:child_process';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, expect, it, vi } from 'vitest';
import type { DoctorReport } from '../../src/doctor/doctor.ts';
import { makeCertificate } from '../../src/host/self-signed-certificate.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import type { AgentStatus } from '../../src/status/shape/agent-status.ts';
import { AgentProcess } from '../support/agent-process.ts';

// The page's scripts are plain JavaScript, without types.
const { verdictOf } = (await import(String(new URL('../../src/pages/status/verdict.js', import.meta.url)))) as {
  readonly verdictOf: (view: unknown) => { readonly state: string; readonly words: string };
};
const DAY_MS = 86_400_000;
const TOLD_WITHIN_MS = 10_000;
const SENSORS = 'sensors: [{ name: machine, kind: host, period: 1s }]';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Situation {
  readonly reason: string;
  readonly state: AgentStatus['platform']['state'];
  /** The section `platform:`. */
  readonly platform: () => Promise<string> | string;
  readonly words: RegExp;
  readonly rest?: string;
  /** From the first exchange to its failure. */
  readonly failsAfterMs?: number;
}

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const http = (answer: RequestListener): Promise<number> => listening(createServer(answer));
const at = (port: number): string => `{ url: "http://127.0.0.1:${port}", accessToken: fixture-token }`;

async function closedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A TLS server with this certificate; `isTrusted` gives its authority to the agent. */
async function tls(names: readonly [string, ...string[]], untilMs: number, isTrusted: boolean): Promise<string> {
  const { key, cert } = makeCertificate({ names, fromMs: Date.now() - 2 * DAY_MS, untilMs });
  const server = createTlsServer({ key, cert }, (socket) => socket.on('error', () => {})).on(
    'tlsClientError',
    () => {},
  );
  const port = await listening(server);
  return `{ url: "https://localhost:${port}", accessToken: fixture-token${isTrusted ? `, caFile: ${await fileWith(cert)}` : ''} }`;
}

async function fileWith(text: string): Promise<string> {
  const { mkdtemp, rm, writeFile } = await import('node:fs/promises');
  const { tmpdir } = await import('node:os');
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-ca-'));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'ca.pem'), text);
  return join(folder, 'ca.pem');
}

/** A proxy that answers every CONNECT so. */
async function proxy(status: string): Promise<string> {
  const server = createServer().on('connect', (_request, socket) =>
    socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`),
  );
  const port = await listening(server);
  return `{ url: "https://iot.example.org", accessToken: fixture-token, proxy: "http://user:secret-word@127.0.0.1:${port}" }`;
}

async function localPlatform(): Promise<number> {
  const platform = await LocalPlatform.start({ port: 0 });
  closing.push(() => platform.close());
  return Number(new URL(platform.url).port);
}

const SITUATIONS: readonly Situation[] = [
  {
    reason: 'a name that nobody knows',
    state: 'never-reached',
    platform: () => '{ url: "http://iot.turnstone.invalid", accessToken: fixture-token }',
    words: /no name server (knows|answers for) iot\.turnstone\.invalid.*; check .*(platform\.url|network)/,
  },
  {
    reason: 'a port where nobody listens',
    state: 'never-reached',
    platform: async () => at(await closedPort()),
    words: /127\.0\.0\.1:\d+ refuses connections; check the port in platform\.url/,
  },
  {
    reason: 'a gateway with actuators alone, and a port where nobody listens',
    state: 'never-reached',
    platform: async () => at(await closedPort()),
    rest: 'actuators: [{ name: siren, kind: command, program: /bin/true, valueType: boolean }]',
    words: /refuses connections/,
  },
  {
    reason: 'a host that takes the connection and never answers',
    state: 'never-reached',
    platform: async () => at(await listening(createTcpServer(() => {}))),
    words: /127\.0\.0\.1:\d+ does not answer; check the address/,
    failsAfterMs: 15_000,
  },
  {
    reason: 'a certificate of an authority that nobody knows',
    state: 'never-reached',
    platform: () => tls(['localhost'], Date.now() + 90 * DAY_MS, false),
    words: /certificate of localhost:\d+ is signed by an authority that is not trusted here; give .*platform\.caFile/,
  },
  {
    reason: 'a certificate for another name',
    state: 'never-reached',
    platform: () => tls(['iot.example.org'], Date.now() + 90 * DAY_MS, true),
    words: /certificate of localhost:\d+ is for another name; write the name/,
  },
  {
    reason: 'a certificate that has expired',
    state: 'never-reached',
    platform: () => tls(['localhost'], Date.now() - DAY_MS, true),
    words: /certificate of localhost:\d+ has expired, or this clock is wrong; check this clock/,
  },
  {
    reason: 'https to a port that speaks http',
    state: 'never-reached',
    platform: async () =>
      `{ url: "https://127.0.0.1:${await http((_request, response) => response.end())}", accessToken: fixture-token }`,
    words: /127\.0\.0\.1:\d+ does not speak TLS; write http:\/\//,
  },
  {
    reason: 'a redirect to https',
    state: 'blocked',
    platform: async () =>
      at(await http((_request, response) => response.writeHead(301, { location: 'https://127.0.0.1/api' }).end())),
    words: /127\.0\.0\.1:\d+ redirects http to https; write https:\/\//,
  },
  {
    reason: 'a server that has no such path',
    state: 'refused',
    platform: async () =>
      at(
        await http((_request, response) =>
          response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not Found"}'),
        ),
      ),
    words: /has no device API at this address \(404\); write scheme, host and port/,
  },
  {
    reason: 'a login page',
    state: 'blocked',
    platform: async () =>
      at(
        await http((_request, response) =>
          response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>'),
        ),
      ),
    words: /answers in its place \(status 200\): a login page or a proxy; log in/,
  },
  {
    reason: 'a proxy that wants a login',
    state: 'blocked',
    platform: () => proxy('407 Proxy Authentication Required'),
    words: /the proxy wants a login \(407\); write user and password/,
  },
  {
    reason: 'a proxy that lets nobody through',
    state: 'blocked',
    platform: () => proxy('403 Forbidden'),
    words: /the proxy does not let through to iot\.example\.org \(status 403\); allow/,
  },
  {
    reason: 'a proxy that is not there',
    state: 'never-reached',
    platform: async () =>
      `{ url: "https://iot.example.org", accessToken: fixture-token, proxy: "http://127.0.0.1:${await closedPort()}" }`,
    words: /the proxy 127\.0\.0\.1:\d+ refuses connections; check platform\.proxy/,
  },
  {
    reason: 'an access token that the platform does not know',
    state: 'refused',
    platform: async () => at(await localPlatform()),
    words: /does not know this device’s access token \(401\); compare/,
  },
];

async function startAgent(
  { platform, rest = SENSORS }: Pick<Situation, 'platform' | 'rest'>,
  port: number,
  trust = 'system',
): Promise<AgentProcess> {
  const pageAndTime = `status: { port: ${port}, metrics: true }\ntime: { trust: ${trust} }`;
  const agent = await AgentProcess.make(
    `version: 1\nplatform: ${await platform()}\n${pageAndTime}\n${rest}`,
    'journey-1',
  );
  closing.push(() => agent.remove());
  return agent;
}

/** The status once it tells of a fault. */
async function statusOf(agent: AgentProcess, withinMs: number): Promise<AgentStatus> {
  const asked = async (): Promise<AgentStatus> => {
    const { out } = await agent.command(['status', '--json']);
    const status = JSON.parse(out) as AgentStatus;
    expect(status.platform.verdict).toBe('fault');
    return status;
  };
  return await vi.waitFor(asked, { timeout: withinMs, interval: 200 });
}

/** The page's verdict, by its own code over what it is served. */
async function pageOf(port: number): Promise<unknown> {
  const view: unknown = await (await fetch(`http://127.0.0.1:${port}/api/status`)).json();
  return verdictOf(view);
}

it.each(SITUATIONS)(
  '$reason is told in the same words everywhere',
  async ({ state, words, failsAfterMs = 0, ...situation }) => {
    const port = await closedPort();
    const agent = await startAgent(situation, port);
    agent.start();
    const status = await statusOf(agent, failsAfterMs + TOLD_WITHIN_MS);
    const { words: sentence, problem = '', remedy = '' } = status.platform;
    expect(status.platform).toMatchObject({ state, verdict: 'fault' });
    expect(sentence).toMatch(words);
    // The network goes before the clock, which is wrong as well, and both are told.
    expect(status.alerts[0]).toBe(sentence);
    expect(status.alerts.slice(1).join()).toMatch(/clock is not synchronised/);
    expect((await agent.command(['status'])).out.replace(/\s+/g, ' ')).toContain(`! ${sentence}`);

    expect(agent.log).toContain(sentence);
    const said = { state: 'bad', words: `${sentence[0]?.toUpperCase()}${sentence.slice(1)}` };
    // The page opens half a second after the agent.
    await vi.waitFor(async () => expect(await pageOf(port)).toMatchObject(said), { timeout: TOLD_WITHIN_MS });
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining(sentence)]);
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toContain(`turnstone_contact_state{state="${state}"} 1`);
    expect(metrics).toContain('turnstone_up_to_date 0');

    const { out } = await agent.command(['doctor', '--json']);
    const report = JSON.parse(out) as DoctorReport;
    expect(report.verdict).toBe('fault');
    const uploads = report.checks.find(({ id }) => id === 'uploads');
    expect(uploads).toMatchObject({ verdict: 'fault', reason: problem, remedy });
    // Neither the token nor the proxy's password is anywhere.
    for (const text of [agent.log, agent.printed]) expect(text).not.toMatch(/fixture-token|secret-word/);
  },
);

const ISOLATED = 'a machine without any network is told in the same words';
it(ISOLATED, async () => {
  const agent = await startAgent(
    { platform: () => '{ url: "http://iot.example.org", accessToken: fixture-token }' },
    0,
  );
  // A network namespace of its own, without any interface that is up.
  const { AGENT_PROGRAM } = await import('../support/agent-program.ts');
  const child = spawn('unshare', ['-rn', process.execPath, AGENT_PROGRAM, 'run', '--config', agent.configFile]);
  let log = '';
  child.stdout.on('data', (piece: Buffer) => {
    log += piece.toString();
  });
  closing.push(() => child.kill('SIGKILL'));
  const status = await statusOf(agent, TOLD_WITHIN_MS);
  expect(status.platform).toMatchObject({ state: 'never-reached', reason: 'no-network' });
  expect(status.alerts[0]).toMatch(/^this machine has no network; check the cable/);
  expect(log).toContain(status.platform.words);
  expect(verdictOf(status)).toMatchObject({
    state: 'bad',
    words: expect.stringContaining('his machine has no network'),
  });
  const report = JSON.parse((await agent.command(['doctor', '--json'])).out) as DoctorReport;
  expect(report.checks.find(({ id }) => id === 'uploads')?.reason).toBe('this machine has no network');
});

it('a platform that goes away is told as lost, and when it is back all is up to date again', async () => {
  const platform = await LocalPlatform.start({ port: 0 });
  const { port } = new URL(platform.url);
  platform.ensureDevice('gateway', 'fixture-token');
  const agent = await startAgent({ platform: () => at(Number(port)) }, 0, 'always');
  agent.start();
  const isGood = async (): Promise<void> => {
    const { platform: now } = JSON.parse((await agent.command(['status', '--json'])).out) as AgentStatus;
    expect(now).toMatchObject({ state: 'reached', verdict: 'good', words: 'up to date' });
  };
  await vi.waitFor(isGood, { timeout: 20_000, interval: 200 });
  await platform.close();
  const lost = await statusOf(agent, 2 * TOLD_WITHIN_MS);
  expect(lost.platform).toMatchObject({ state: 'lost', problem: expect.stringContaining('refuses connections') });
  expect(agent.log).toContain(lost.platform.words);
  const again = await LocalPlatform.start({ port: Number(port) });
  closing.push(() => again.close());
  again.ensureDevice('gateway', 'fixture-token');
  // A backoff may have grown to some seconds.
  await vi.waitFor(isGood, { timeout: 60_000, interval: 500 });
  expect(agent.log).toContain('the platform is reached');
});

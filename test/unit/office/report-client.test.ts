import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { AnalyticsHttp } from '../../../src/office/reports/analytics-http.ts';
import { AnalyticsSession } from '../../../src/office/reports/analytics-session.ts';
import {
  ReportClient,
  type ReportClientDeps,
  type ReportClientSettings,
  type ReportRequest,
} from '../../../src/office/reports/report-client.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type AnswerReport, fakeService, json, jwt, SMALL_REPORT } from './fake-service.ts';

const VIEW = '6b8e2f6e-0d43-4c2a-9a4e-0c1f5d9f0a11';
const signal = new AbortController().signal;
const quick = { ...systemClock, sleep: async () => {}, jitter: () => 0.5 };

async function given(
  answer: AnswerReport,
  options: { login?: AnswerReport; settings?: Partial<ReportClientSettings>; deps?: Partial<ReportClientDeps> } = {},
) {
  const service = await fakeService(answer, options.login);
  const client = new ReportClient({
    settings: {
      url: service.url,
      basePath: '/apiAnalytics',
      user: 'tenant@example.com',
      password: 'the password',
      tokenIn: 'header',
      requestTimeoutMs: 5_000,
      deadlineMs: 60_000,
      ...options.settings,
    },
    clock: quick,
    ...options.deps,
  });
  const rows = async (request: Partial<ReportRequest> = {}) => {
    const found: JsonObject[] = [];
    for await (const part of client.buildReport({ viewConfigId: VIEW, ...request }, signal))
      if (part.kind === 'rows') found.push(...part.rows);
    return found;
  };
  return { service, client, rows };
}

/** A session by itself. */
async function login(answer?: AnswerReport) {
  const service = await fakeService(ok, answer);
  const http = new AnalyticsHttp({ requestTimeoutMs: 5_000 });
  onTestFinished(() => http.close());
  const who = { authUrl: service.url, user: 'tenant@example.com', password: 'the password', requestTimeoutMs: 5_000 };
  return { service, session: new AnalyticsSession({ ...who, http, clock: quick }) };
}

const ok: AnswerReport = (_call, response) => json(response, 200, SMALL_REPORT);

describe('the report client', () => {
  it('logs in, sends the token in the header named jwt, and gives the rows', async () => {
    const { service, rows } = await given(ok);
    expect(await rows()).toEqual(SMALL_REPORT.dataTable);
    expect(service.logins[0]).toMatchObject({
      path: '/api/auth/login',
      body: { username: 'tenant@example.com', password: 'the password' },
    });
    expect(service.calls[0]).toMatchObject({
      path: '/apiAnalytics/publicApi/buildReport',
      body: { viewConfigId: VIEW },
      headers: { jwt: jwt('login-1', 9_000), 'content-type': 'application/json' },
    });
  });

  it('sends only what is given: range ends and filters', async () => {
    const { service, rows } = await given(ok);
    await rows({ rangeStartTs: 5, filters: { Device: ['a', 'b'] } });
    expect(service.calls[0]?.body).toEqual({ viewConfigId: VIEW, rangeStartTs: 5, filters: { Device: ['a', 'b'] } });
  });

  it('sends the token as query parameter when told so, under another base path', async () => {
    const { service, rows } = await given(ok, { settings: { tokenIn: 'query', basePath: '/apiTrendz/' } });
    await rows();
    expect(service.calls[0]?.path).toBe(
      `/apiTrendz/publicApi/buildReport?jwt=${encodeURIComponent(jwt('login-1', 9_000))}`,
    );
    expect(service.calls[0]?.headers.jwt).toBeUndefined();
  });

  it('keeps its token, and renews it by the refresh token before it ends', async () => {
    const clock = new FakeClock();
    const { service, rows } = await given(ok, { deps: { clock } });
    await rows();
    await rows();
    expect(service.logins).toHaveLength(1);
    await clock.advance(9_000_000 - 59_000);
    await rows();
    expect(service.logins[1]).toMatchObject({ path: '/api/auth/token', body: { refreshToken: 'refresh-1' } });
    expect(service.calls.at(-1)?.headers.jwt).toBe(jwt('login-2', 9_000));
  });

  it('logs in again when the refresh token has ended', async () => {
    const clock = new FakeClock();
    const { service, rows } = await given(ok, {
      deps: { clock },
      login: (call, response, index) =>
        call.path === '/api/auth/token'
          ? json(response, 401, {})
          : json(response, 200, { token: jwt(`t-${index}`, 100), refreshToken: 'r' }),
    });
    await rows();
    await clock.advance(100_000);
    await rows();
    expect(service.logins.map(({ path }) => path)).toEqual(['/api/auth/login', '/api/auth/token', '/api/auth/login']);
  });

  it('renews once on 403, and then says that it is forbidden', async () => {
    const expired = await given((_call, response, index) =>
      index === 1 ? response.writeHead(403).end() : json(response, 200, SMALL_REPORT),
    );
    expect(await expired.rows()).toHaveLength(2);
    expect(expired.service.logins).toHaveLength(2);
    const never = await given((_call, response) => json(response, 403, { message: 'no' }));
    await expect(never.rows()).rejects.toMatchObject({
      code: 'analytics/forbidden',
      message: expect.stringContaining('(403)'),
    });
    expect(never.service.calls).toHaveLength(2);
  });

  it('tells 415, 404 and an unreadable answer apart', async () => {
    const mediaType = await given((_call, response) => response.writeHead(415).end());
    await expect(mediaType.rows()).rejects.toMatchObject({
      code: 'analytics/media-type',
      message: expect.stringContaining('(415)'),
    });
    const unknown = await given((_call, response) => response.writeHead(404).end());
    await expect(unknown.rows()).rejects.toThrow(/no such view/);
    const portal = await given((_call, response) => response.writeHead(200).end('<html>'));
    await expect(portal.rows()).rejects.toMatchObject({ code: 'analytics/bad-answer' });
  });

  it('says when the password is wrong, without telling it', async () => {
    const { rows } = await given(ok, {
      login: (call, response) => json(response, 401, { message: `bad: ${JSON.stringify(call.body)}` }),
    });
    const error = await rows().catch((caught: Error) => caught);
    expect(error).toMatchObject({ code: 'analytics/login-refused' });
    expect(String((error as Error).message)).not.toContain('the password');
  });

  it('waits and repeats on 429, with jitter, as long as the service asks for at least', async () => {
    const waits: number[] = [];
    const { rows } = await given(
      (_call, response, index) =>
        index <= 3
          ? response.writeHead(429, index === 3 ? { 'retry-after': '7' } : {}).end()
          : json(response, 200, SMALL_REPORT),
      { deps: { onWait: (waitMs) => waits.push(waitMs) } },
    );
    expect(await rows()).toHaveLength(2);
    expect(waits).toEqual([275, 550, 7_875]);
  });

  it('gives up on 429 at its deadline', async () => {
    const clock = new FakeClock();
    const sleeping = {
      ...quick,
      monotonicMs: () => clock.monotonicMs(),
      sleep: async (ms: number) => void (await clock.advance(ms)),
    };
    const { rows, service } = await given((_call, response) => response.writeHead(429).end(), {
      settings: { deadlineMs: 20_000 },
      deps: { clock: sleeping },
    });
    await expect(rows()).rejects.toMatchObject({
      code: 'analytics/too-many-requests',
      message: expect.stringContaining('(429)'),
    });
    expect(clock.monotonicMs() - 10_000).toBeLessThanOrEqual(20_000);
    expect(service.calls.length).toBeGreaterThan(4);
  });

  it('logs in once for many calls at once', async () => {
    const { service, rows } = await given(ok);
    await Promise.all(Array.from({ length: 20 }, () => rows()));
    expect(service.logins).toHaveLength(1);
    expect(service.calls).toHaveLength(20);
  });

  it('forgets no token but the one that was refused: another call may have renewed it', async () => {
    const { service, session } = await login();
    const token = await session.token(signal);
    session.forget('an older one');
    expect(await session.token(signal)).toBe(token);
    expect(service.logins).toHaveLength(1);
    session.forget(token);
    expect(await session.token(signal)).not.toBe(token);
    expect(service.logins).toHaveLength(2);
  });

  it('goes on with a login that others wait for, when the first of them has left', async () => {
    let answer = (): void => {};
    const { service, session } = await login((_call, response) => {
      answer = () => json(response, 200, { token: jwt('shared', 9_000) });
    });
    const first = new AbortController();
    const left = session.token(first.signal).catch((error: { code?: string }) => error.code);
    const stays = session.token(signal);
    await expect.poll(() => service.logins.length).toBe(1);
    first.abort();
    expect(await left).toBe('analytics/unreachable');
    answer();
    expect(await stays).toBe(jwt('shared', 9_000));
    expect(service.logins).toHaveLength(1);
  });

  it('ends a login for which nobody waits any more, and begins another for the next', async () => {
    let isOver = false;
    const { service, session } = await login((_call, response, index) => {
      if (index > 1) json(response, 200, { token: jwt('second', 9_000) });
      else response.on('close', () => (isOver = true));
    });
    const only = new AbortController();
    const left = session.token(only.signal).catch((error: { code?: string }) => error.code);
    await expect.poll(() => service.logins.length).toBe(1);
    only.abort();
    expect(await left).toBe('analytics/unreachable');
    expect(await session.token(signal)).toBe(jwt('second', 9_000));
    await expect.poll(() => isOver).toBe(true);
  });

  it('tells a report that was cut off', async () => {
    const { rows } = await given((_call, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('{"columnLabels":["a"],"dataTable":[{"a":1}');
      setTimeout(() => response.destroy(), 20);
    });
    await expect(rows()).rejects.toMatchObject({ code: 'analytics/unreachable' });
  });

  it('tells nothing of a proxy’s password', async () => {
    const quoting = await fakeService(
      (call, response) => json(response, 400, { message: `${call.headers['proxy-authorization']} of proxypassword` }),
      (call, response) => json(response, 400, { message: `${call.headers['proxy-authorization']} of proxypassword` }),
    );
    const { rows } = await given(ok, {
      settings: { url: 'http://platform.example', proxy: quoting.url.replace('//', '//user:proxypassword@') },
    });
    const { message } = (await rows().catch((error: Error) => error)) as Error;
    expect(message).toContain('[token] of [token]');
    expect(message).not.toContain('proxypassword');
  });

  it('names neither address nor token in any error', async () => {
    const { rows, service } = await given(
      (call, response) => json(response, 500, { url: `http://x${call.path}`, token: call.headers.jwt }),
      {
        settings: { tokenIn: 'query' },
      },
    );
    const error = await rows().catch((caught: Error) => caught);
    expect((error as Error).message).not.toContain(jwt('login-1', 9_000));
    expect((error as Error).message).not.toContain(service.url);
    const nobody = await given(ok, { settings: { url: 'http://127.0.0.1:9' } });
    const lost = await nobody.rows().catch((caught: Error) => caught);
    expect(lost).toMatchObject({ code: 'analytics/unreachable' });
    expect(JSON.stringify([(lost as Error).message, String((lost as Error).cause)])).not.toMatch(
      /127\.0\.0\.1:9\/|password/,
    );
  });

  it('ends the request when the loop is left', async () => {
    let closed = false;
    const { client } = await given((_call, response) => {
      response.on('close', () => {
        closed = true;
      });
      response.writeHead(200).write('{"columnLabels":["a"],"dataTable":[{"a":1},');
      const more = setInterval(() => response.write('{"a":1},'), 5);
      response.on('close', () => clearInterval(more));
    });
    for await (const part of client.buildReport({ viewConfigId: VIEW }, signal)) if (part.kind === 'rows') break;
    await expect.poll(() => closed).toBe(true);
  });

  describe('of a service that drips', () => {
    const headersAlone: AnswerReport = (_call, response) => void response.writeHead(200).write(' ');

    it.each<[string, AnswerReport, AnswerReport | undefined]>([
      ['its login', ok, headersAlone],
      ['a login that never begins', ok, () => {}],
      ['what it says of a fault', (_call, response) => void response.writeHead(500).write('x'), undefined],
      ['its report', headersAlone, undefined],
      ['its rows', (_call, response) => void response.writeHead(200).write('{"dataTable":[{"a":1},'), undefined],
    ])('waits no longer than it was told for %s', async (_name, answer, login) => {
      const clock = new FakeClock();
      const { service, rows } = await given(answer, { deps: { clock }, ...(login === undefined ? {} : { login }) });
      const failed = rows().then(
        () => 'read',
        (error: Error) => `${(error as { code?: string }).code}: ${error.message}`,
      );
      await expect.poll(() => (login === undefined ? service.calls : service.logins).length).toBe(1);
      // The answer's beginning is on its way; whether it has come makes no difference.
      await clock.advance(5_000);
      expect(await failed).toBe('analytics/unreachable: the answer was not complete in time');
    });

    it('waits on while rows come, but not for ever', async () => {
      const clock = new FakeClock();
      let send = (_text: string): void => {};
      const { service, client } = await given(
        (_call, response) => {
          send = (text) => void response.write(text);
          send('{"dataTable":[{"a":0}');
        },
        { deps: { clock }, settings: { requestTimeoutMs: 3_600_000 } },
      );
      const parts = client.buildReport({ viewConfigId: VIEW }, signal);
      await parts.next();
      expect(service.calls).toHaveLength(1);
      expect((await parts.next()).value).toMatchObject({ kind: 'rows' });
      for (let hour = 0; hour < 6; hour += 1) {
        const next = parts.next();
        await clock.advance(3_500_000);
        send(',{"a":1}');
        expect((await next).value).toMatchObject({ kind: 'rows' });
      }
      const last = parts.next().catch((error: Error) => error.message);
      await clock.advance(700_000);
      expect(await last).toBe('the answer was not complete in time');
    });

    it('takes of what it says no more than people read', async () => {
      const endless: AnswerReport = (_call, response) => void response.writeHead(400).write('no '.repeat(50_000));
      const { rows } = await given(endless);
      await expect(rows()).rejects.toThrow(/refused \(400\): no no/);
    });
  });
});

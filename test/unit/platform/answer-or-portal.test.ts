import { describe, expect, it } from 'vitest';
import { type Answer, expectValue, judge, retryAfterOf, uploadAnswer } from '../../../src/platform/answer-or-portal.ts';
import { jsonCodec } from '../../../src/platform/payload-codec.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';

const WALL_MS = Date.UTC(2026, 10, 21, 10, 0, 0);
const deps = { codec: jsonCodec, secrets: ['sEcReT-token'], wallMs: WALL_MS };

function answer(status: number, body = '', more: Partial<Answer> = {}): Answer {
  return { status, contentType: '', body: Buffer.from(body), cut: false, ...more };
}

function upload(given: Answer): ReturnType<typeof uploadAnswer> {
  return uploadAnswer(judge(given, deps));
}

describe('an upload', () => {
  it.each<[string, Answer]>([
    ['empty 200', answer(200)],
    ['200 with JSON', answer(200, '{"ok":true}', { contentType: 'application/json' })],
    ['200 with JSON of no type', answer(200, ' []')],
    ['204', answer(204)],
  ])('is accepted by %s', (_name, given) => expect(upload(given)).toEqual({ kind: 'accepted' }));

  it.each<[string, Answer]>([
    ['200 with HTML', answer(200, '<html>Log in</html>', { contentType: 'text/html' })],
    ['200 with HTML that calls itself JSON', answer(200, '\n<!DOCTYPE html>', { contentType: 'application/json' })],
    ['200 with an empty page', answer(200, '', { contentType: 'text/html' })],
    ['200 with other text', answer(200, 'welcome', { contentType: 'text/plain' })],
    ['200 without end', answer(200, '[1,', { cut: true })],
    ['301', answer(301)],
    ['302', answer(302, '<a>')],
    ['307', answer(307)],
    ['304', answer(304)],
    ['400 with a page', answer(400, '<html>Bad Request</html>', { contentType: 'text/html' })],
    ['511', answer(511)],
  ])('meets a portal in %s', (_name, given) => expect(upload(given)).toEqual({ kind: 'portal', status: given.status }));

  it.each([400, 422, 500])('is refused by %s with text', (status) => {
    expect(upload(answer(status, "Can't parse value"))).toEqual({ kind: 'refused', status, text: "Can't parse value" });
  });

  it('is refused by an empty 400', () =>
    expect(upload(answer(400))).toEqual({ kind: 'refused', status: 400, text: '' }));

  it.each([408, 425, 429, 502, 503, 504, 507])('finds the server busy in %s, whatever it says', (status) => {
    expect(upload(answer(status, 'text'))).toEqual({ kind: 'busy', status, text: 'text' });
  });

  it('shows nothing of a token that stands where a long text is cut', () => {
    const body = `bad token${' '.repeat(2_400 - 9 - 6)}sEcReT-token is unknown`;
    for (const status of [400, 401, 503]) {
      const said = judge(answer(status, body), deps);
      expect(said).toMatchObject({ text: 'bad token' });
    }
  });

  it('finds the server busy in an empty 500, which is how rate limits look, and in a proxy page with 500', () => {
    expect(upload(answer(500))).toEqual({ kind: 'busy', status: 500, text: '' });
    expect(upload(answer(500, '  \n'))).toMatchObject({ kind: 'busy' });
    expect(upload(answer(500, '<html>nginx</html>', { contentType: 'text/html' }))).toMatchObject({
      kind: 'busy',
      status: 500,
    });
  });

  it('is too large by 413', () =>
    expect(upload(answer(413, '"too large"'))).toEqual({ kind: 'too-large', status: 413 }));

  it.each([401, 403, 404, 405, 407, 415])('is held by %s', (status) => {
    expect(upload(answer(status, 'no'))).toEqual({ kind: 'unauthorised', status, text: 'no' });
  });

  it('shows neither token nor address of an answer that echoes them, on one line, cut', () => {
    const text = `{"path":"/api/v1/sEcReT-token/telemetry","at":"http://host/api/v1/other/telemetry"}\n\u0007${'x'.repeat(500)}`;
    const refused = upload(answer(500, text));
    if (refused.kind !== 'refused') throw new Error(refused.kind);
    expect(refused.text).not.toMatch(/sEcReT|host|other|\p{Cc}/u);
    expect(refused.text.length).toBeLessThanOrEqual(301);
  });
});

describe('Retry-After', () => {
  const at = (retryAfter: string, date?: string): number | undefined =>
    retryAfterOf({ retryAfter, ...(date === undefined ? {} : { date }) }, WALL_MS);

  it('is taken in seconds', () => expect(at(' 120 ')).toBe(120_000));
  it('is taken as a date, against this clock', () => expect(at('Sat, 21 Nov 2026 10:00:30 GMT')).toBe(30_000));
  it("is taken as a date, against the server's own clock when it tells it", () => {
    expect(at('Thu, 01 Jan 1970 00:01:00 GMT', 'Thu, 01 Jan 1970 00:00:15 GMT')).toBe(45_000);
  });
  it('is no longer than an hour', () => {
    expect(at('999999999')).toBe(3_600_000);
    expect(at('Fri, 21 Nov 2036 10:00:00 GMT')).toBe(3_600_000);
  });
  it('is never negative', () => expect(at('Sat, 21 Nov 2026 09:00:00 GMT')).toBe(0));
  it.each(['', 'soon', '-5', '1.5'])('is nothing for %j', (given) => expect(at(given) ?? 0).toBe(0));
  it('comes with the busy answer', () => {
    expect(upload(answer(503, '', { retryAfter: '7' }))).toEqual({
      kind: 'busy',
      status: 503,
      text: '',
      retryAfterMs: 7000,
    });
  });
});

describe('any other call', () => {
  it.each<[Answer, string, string]>([
    [answer(401), 'platform/unauthorised', 'hold'],
    [answer(403, 'Device was deleted!'), 'platform/unauthorised', 'hold'],
    [answer(404), 'platform/not-found', 'hold'],
    [answer(400, 'bad'), 'platform/refused', 'drop'],
    [answer(413), 'platform/too-large', 'drop'],
    [answer(302), 'platform/portal', 'hold'],
    [answer(503), 'platform/busy', 'retry'],
    [answer(200, '{"a":', { contentType: 'application/json' }), 'platform/bad-answer', 'retry'],
  ])('throws what the answer means: %#', (given, code, recovery) => {
    expect(() => expectValue(judge(given, deps), 'reading')).toThrow(
      expect.objectContaining({ code, recovery, status: given.status }),
    );
  });

  it('passes Retry-After on', () => {
    try {
      expectValue(judge(answer(503, '', { retryAfter: '9' }), deps), 'reading');
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(PlatformError);
      expect((error as PlatformError).retryAfterMs).toBe(9000);
    }
  });

  it('refuses JSON nested too deep, and drops __proto__', () => {
    expect(judge(answer(200, '['.repeat(100) + ']'.repeat(100)), deps)).toMatchObject({ kind: 'not-understood' });
    const verdict = judge(answer(200, '{"__proto__":{"polluted":1},"a":1}'), deps);
    expect(verdict).toEqual({ kind: 'done', value: { a: 1 } });
  });
});

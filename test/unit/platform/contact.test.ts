/** The one contact state: what feeds it, when a fault counts, and when it ends. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Answer, Verdict } from '../../../src/platform/answer-or-portal.ts';
import { Contact } from '../../../src/platform/contact.ts';
import type { ContactPlace } from '../../../src/platform/contact-faults.ts';
import { networkError, PlatformError } from '../../../src/platform/platform-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const PLACE: ContactPlace = { origin: 'https://iot.example.org' };
const DONE: Verdict = { kind: 'done', value: undefined };
const answer = (status: number, more: Partial<Answer> = {}): Answer => ({
  status,
  contentType: 'application/json',
  body: Buffer.alloc(0),
  cut: false,
  ...more,
});
const broken = (code: string): PlatformError => networkError(Object.assign(new Error('x'), { code }), []);
const BUSY: Verdict = { kind: 'busy', status: 503, text: '' };
const UNKNOWN_TOKEN = [{ kind: 'unauthorised', status: 401, text: '' }, answer(401), PLACE] as const;

let clock: FakeClock;
let addresses: string[];
let lines: string[];
let contact: Contact;

beforeEach(() => {
  [clock, addresses, lines] = [new FakeClock(), ['10.0.0.7'], []];
  const told = (fields: object, message: string): void =>
    void lines.push(`${(fields as { contact: string }).contact}: ${message}`);
  contact = new Contact({ clock, log: { info: told, error: told }, networkAddresses: () => addresses });
});

describe('contact', () => {
  it('is never reached before the first answer, and a fault counts at once', () => {
    expect(contact.status).toEqual({ state: 'never-reached', sinceMs: clock.monotonicMs() });
    contact.failed(broken('ENOTFOUND'), PLACE);
    expect(contact.status).toMatchObject({ state: 'never-reached', reason: 'unknown-name' });
    expect(lines).toEqual([
      expect.stringMatching(/^never-reached: no name server knows iot\.example\.org; check the spelling/),
    ]);
  });

  it('that stood is lost after five seconds without an answer, and no sooner', async () => {
    contact.answered(DONE, answer(200), PLACE);
    contact.failed(broken('ECONNRESET'), PLACE);
    await clock.advance(4_999);
    expect([contact.status.state, lines]).toEqual(['reached', ['reached: the platform is reached']]);
    await clock.advance(1);
    expect([contact.status.state, lines.length]).toEqual(['lost', 2]);
    contact.failed(broken('ECONNRESET'), PLACE);
    expect(lines.length).toBe(2);
    contact.answered(DONE, answer(200), PLACE);
    expect([contact.status.state, lines[2]]).toEqual(['reached', 'reached: the platform is reached']);
  });

  it('tells each fault once it counts, and that it is over', async () => {
    const told: string[] = [];
    const end = contact.onChange(({ state, reason = '' }) => told.push(`${state} ${reason}`));
    contact.answered(DONE, answer(200), PLACE);
    contact.answered(DONE, answer(200), PLACE);
    contact.failed(broken('ECONNRESET'), PLACE);
    await clock.advance(6_000);
    contact.answered(...UNKNOWN_TOKEN);
    contact.answered(DONE, answer(200), PLACE);
    end();
    contact.answered(...UNKNOWN_TOKEN);
    await clock.advance(6_000);
    expect(told).toEqual(['reached ', expect.stringMatching(/^lost ./), 'refused token-refused', 'reached ']);
  });

  it('that an answer restores within five seconds says nothing', async () => {
    contact.answered(DONE, answer(200), PLACE);
    contact.failed(broken('ECONNRESET'), PLACE);
    await clock.advance(3_000);
    contact.answered(DONE, answer(200), PLACE);
    await clock.advance(60_000);
    expect([contact.status.state, lines.length, clock.pending]).toEqual(['reached', 1, 0]);
  });

  it.each([
    ['refuses connections', () => contact.failed(broken('ECONNREFUSED'), PLACE)],
    ['answers 502', () => contact.answered(BUSY, answer(502), PLACE)],
    ['answers 503', () => contact.answered(BUSY, answer(503), PLACE)],
  ])(
    'tells of a restart when a platform that answered before %s for ten seconds, once and no sooner',
    async (_name, fail) => {
      const heardAtMs: number[] = [];
      contact.onRestarted((lastHeardAtMs) => heardAtMs.push(lastHeardAtMs));
      const hear = (): void => contact.answered(DONE, answer(200), PLACE);
      const away = async (ms: number): Promise<void> => {
        fail();
        await clock.advance(ms);
        hear();
      };
      await away(60_000);
      await away(9_999);
      const before = clock.monotonicMs();
      await clock.advance(1_000);
      contact.failed(broken('ECONNRESET'), PLACE);
      await clock.advance(60_000);
      hear();
      expect(heardAtMs).toEqual([]);
      const lastMs = clock.monotonicMs();
      expect(lastMs).toBeGreaterThan(before);
      await clock.advance(2_000);
      await away(10_000);
      hear();
      expect(heardAtMs).toEqual([lastMs]);
    },
  );

  it('tells each new reason once', () => {
    for (const code of ['ENOTFOUND', 'ENOTFOUND', 'ECONNREFUSED', 'ENOTFOUND', 'ECONNREFUSED'])
      contact.failed(broken(code), PLACE);
    expect(lines.map((line) => line.split(';')[0])).toEqual([
      'never-reached: no name server knows iot.example.org',
      'never-reached: iot.example.org refuses connections',
    ]);
  });

  it('is refused by a platform that does not know the token, and reached once it does', () => {
    contact.answered(...UNKNOWN_TOKEN);
    expect(contact.status).toMatchObject({ state: 'refused', reason: 'token-refused' });
    contact.answered(DONE, answer(200), PLACE);
    expect(contact.status.state).toBe('reached');
  });

  it('is blamed on this machine where it has no address', () => {
    addresses = [];
    contact.failed(broken('EAI_AGAIN'), PLACE);
    expect(contact.status.reason).toBe('no-network');
    contact.failed(broken('ECONNREFUSED'), PLACE);
    expect(contact.status.reason).toBe('connection-refused');
  });

  it('says nothing of a call that the agent ended itself', () => {
    contact.failed(new PlatformError('aborted', 'ended'), PLACE);
    expect(contact.status).not.toHaveProperty('reason');
  });

  it('is reached by a platform that refuses what was sent, and by one that is busy', () => {
    for (const verdict of [
      { kind: 'refused', status: 400, text: 'x' },
      { kind: 'too-large', status: 413 },
      { kind: 'busy', status: 429, text: '' },
    ] as const) {
      contact.answered(verdict, answer(verdict.status), PLACE);
      expect(contact.status.state).toBe('reached');
    }
  });

  it.each([
    ['portal', { kind: 'portal', status: 302 }, { location: 'https://login.example.net/' }, 'portal'],
    [
      'a redirect of https to another name',
      { kind: 'portal', status: 301 },
      { location: 'https://iot.example.org/x' },
      'portal',
    ],
    ['an answer that makes no sense', { kind: 'not-understood', status: 200, text: '' }, {}, 'portal'],
    ['404', { kind: 'unauthorised', status: 404, text: '' }, {}, 'no-device-api'],
    ['403', { kind: 'unauthorised', status: 403, text: '' }, {}, 'device-refused'],
    ['502', { kind: 'busy', status: 502, text: '' }, {}, 'unavailable'],
  ] as const)('names the reason of an answer: %s', (_name, verdict, more, reason) => {
    contact.answered(verdict, answer(verdict.status, more), PLACE);
    expect(contact.status.reason).toBe(reason);
  });

  it('knows a redirect of its own host to https, and a proxy that refuses, from a login page', () => {
    const plain = { origin: 'http://iot.example.org' };
    contact.answered({ kind: 'portal', status: 308 }, answer(308, { location: 'https://iot.example.org/api' }), plain);
    expect(contact.status.reason).toBe('https-wanted');
    const refused = { kind: 'unauthorised', status: 403, text: '' } as const;
    contact.answered(refused, answer(403, { contentType: 'text/plain' }), {
      ...plain,
      proxyHost: 'proxy.example.org:3128',
    });
    expect(contact.status.reason).toBe('proxy-refuses');
  });
});

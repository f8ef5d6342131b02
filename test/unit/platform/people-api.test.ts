/** The REST side as a person uses it: what each refusal becomes, how patient it is, and that nothing secret is told. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { openPeopleApi, type PeopleApi } from '../../../src/platform/people-api.ts';
import { LocalPlatform } from '../../../src/stand-ins/local-platform/local-platform.ts';

const PASSWORD = 'tenant';

async function bench(): Promise<{
  readonly platform: LocalPlatform;
  readonly api: PeopleApi;
  readonly waits: readonly number[];
}> {
  const platform = await LocalPlatform.start();
  onTestFinished(() => platform.close());
  const waits: number[] = [];
  // Waits are told, and not waited for.
  const clock = {
    ...systemClock,
    bootId: systemClock.bootId,
    sleep: async (ms: number) => {
      waits.push(ms);
    },
  };
  const deps = { clock, randomBytes: systemRandomBytes, signal: new AbortController().signal };
  const api = await openPeopleApi({ url: platform.url, user: 'tenant@thingsboard.org', password: PASSWORD }, deps);
  onTestFinished(() => api.close());
  return { platform, api, waits };
}

const any = (): boolean => true;

describe('an answer', () => {
  it.each([
    [401, 'platform/unauthorised', '/api/customer is closed to this login: no'],
    [403, 'platform/refused', 'this user may not use /api/customer: no'],
    [404, 'platform/not-found', '/api/customer is not there: no'],
    [409, 'platform/refused', 'somebody else has changed /api/customer meanwhile: no'],
    [413, 'platform/too-large', '/api/customer takes nothing so large: no'],
    [429, 'platform/busy', '/api/customer was answered with 429: no'],
    [400, 'platform/refused', '/api/customer was answered with 400: no'],
    [500, 'platform/busy', '/api/customer was answered with 500: no'],
  ])('of %i is %s', async (status, code, message) => {
    const { platform, api } = await bench();
    const matches = (_method: string, path: string): boolean => path === '/api/customer';
    platform.faults.plant({ kind: 'answer', status, body: '{"message":"no"}' }, { times: 5, matches });
    await expect(api.post('/api/customer', { title: 'Farm' })).rejects.toMatchObject({ code, message });
  });

  it('that is a page of something else says so', async () => {
    const { platform, api } = await bench();
    platform.faults.plant(
      { kind: 'answer', status: 200, body: '<html>hello</html>', contentType: 'text/html' },
      { matches: any },
    );
    const message = '/api/auth/user was not answered as the platform does: is this its address?';
    await expect(api.get('/api/auth/user')).rejects.toMatchObject({ code: 'platform/bad-answer', message });
  });

  it('tells neither password nor address, whatever the server says', async () => {
    const { platform, api } = await bench();
    const body = JSON.stringify({ message: `wrong: https://iot.example.org/x a-${PASSWORD}-b` });
    platform.faults.plant({ kind: 'answer', status: 400, body }, { matches: any });
    const error = await api.post('/api/customer', {}).catch((one: unknown) => String(one));
    expect(error).not.toMatch(/tenant|iot\.example/);
  });
});

describe('patience', () => {
  it('waits as long as a busy platform asks for, up to half a minute, and then goes on', async () => {
    const { platform, api, waits } = await bench();
    platform.faults.plant({ kind: 'answer', status: 429, headers: { 'retry-after': '7' } }, { matches: any });
    platform.faults.plant({ kind: 'answer', status: 503, headers: { 'retry-after': '900' } }, { matches: any });
    expect(await api.post('/api/customer', { title: 'Farm' })).toMatchObject({ title: 'Farm', version: 1 });
    expect(waits).toEqual([7_000, 30_000]);
  });

  it('logs in again when its token has ended', async () => {
    const { platform, api } = await bench();
    platform.faults.plant({ kind: 'answer', status: 401 }, { matches: (_method, path) => path === '/api/auth/user' });
    expect(await api.get('/api/auth/user')).toMatchObject({ authority: 'TENANT_ADMIN' });
  });
});

describe('lists and versions', () => {
  it('reads all pages', async () => {
    const { api } = await bench();
    for (let at = 0; at < 101; at += 1) await api.post('/api/dashboard', { title: `board ${at}` });
    expect((await api.list('/api/tenant/dashboards', 'BOARD'))?.length).toBe(101);
    expect(await api.list('/api/nothing')).toBeUndefined();
  });

  it('does not write over what somebody else has changed since it was read', async () => {
    const { api } = await bench();
    const first = await api.post('/api/dashboard', { title: 'mine' });
    await api.post('/api/dashboard', { ...first, title: 'theirs' });
    await expect(api.post('/api/dashboard', { ...first, title: 'mine again' })).rejects.toMatchObject({
      code: 'platform/refused',
    });
  });
});

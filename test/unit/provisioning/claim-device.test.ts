import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ClaimRequest, claimDevice, claimText, makeClaimSecret } from '../../../src/provisioning/claim-device.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { stateFolder } from './state-folder.ts';

async function given() {
  const folder = await stateFolder();
  const clock = new FakeClock();
  const sent: unknown[] = [];
  const hidden: string[] = [];
  const claim = (request: ClaimRequest) =>
    claimDevice(
      {
        deviceApi: { claim: async (what) => void sent.push(what) },
        stateFolder: folder,
        deviceName: 'gw',
        clock,
        hide: (secret) => hidden.push(secret),
      },
      request,
      new AbortController().signal,
    );
  return { folder, clock, sent, hidden, claim };
}

describe('claiming', () => {
  it('makes a secret that nobody guesses and anybody can type', () => {
    const secrets = new Set(Array.from({ length: 100 }, makeClaimSecret));
    expect(secrets.size).toBe(100);
    for (const secret of secrets) expect(secret).toMatch(/^([A-HJKMNP-Z2-9]{5}-){3}[A-HJKMNP-Z2-9]{5}$/);
  });

  it('sends secret and duration, and says until when', async () => {
    const { claim, sent, hidden, clock } = await given();
    const open = await claim({ secretKey: 'given', durationMs: 600_000 });
    expect(sent).toEqual([{ secretKey: 'given', durationMs: 600_000 }]);
    expect(open).toEqual({
      deviceName: 'gw',
      secretKey: 'given',
      untilMs: clock.wallMs() + 600_000,
      untilIsEstimate: false,
      alreadyOpen: false,
    });
    expect(hidden).toContain('given');
  });

  it('leaves the duration to the platform when none is given', async () => {
    const { claim, sent } = await given();
    expect((await claim({})).untilIsEstimate).toBe(true);
    expect(Object.keys(sent[0] as object)).toEqual(['secretKey']);
  });

  it('shows the open claim again, since the platform would ignore another', async () => {
    const { claim, clock } = await given();
    const first = await claim({ durationMs: 600_000 });
    expect(await claim({ secretKey: 'another', durationMs: 600_000 })).toMatchObject({ secretKey: first.secretKey, alreadyOpen: true });
    await clock.advance(600_001);
    expect(await claim({ secretKey: 'another', durationMs: 600_000 })).toMatchObject({ secretKey: 'another', alreadyOpen: false });
  });

  it('keeps the secret where only the service user reads it, and minds no spoilt file', async () => {
    const { claim, folder } = await given();
    const { secretKey } = await claim({});
    expect((await stat(join(folder, 'claim.json'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(folder, 'claim.json'), 'utf8')).toContain(secretKey);
    await writeFile(join(folder, 'claim.json'), 'x');
    expect((await claim({})).alreadyOpen).toBe(false);
  });

  it('says in the QR code what a claim form asks for', () => {
    expect(JSON.parse(claimText({ deviceName: 'gw', secretKey: 's' }))).toEqual({ deviceName: 'gw', secretKey: 's' });
  });
});

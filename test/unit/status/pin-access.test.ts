import { describe, expect, it } from 'vitest';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { type Admission, PinAccess, SESSION_LIFE_MS } from '../../../src/status/pin-access.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const PIN = '471199';
const HOUR_MS = 3_600_000;

function door(): { readonly clock: FakeClock; readonly door: PinAccess } {
  const clock = new FakeClock();
  return { clock, door: new PinAccess(PIN, { clock, randomBytes: systemRandomBytes }) };
}

function sessionOf(admission: Admission): string {
  return typeof admission === 'object' && 'session' in admission ? admission.session : '';
}

describe('PinAccess', () => {
  it('gives whoever knows the PIN a session that ends', async () => {
    const { clock, door: pin } = door();
    const session = sessionOf(pin.admit(PIN, 'a'));
    expect(pin.knows(session)).toBe(true);
    expect(pin.knows(`${session}x`)).toBe(false);
    expect(pin.knows(undefined)).toBe(false);
    await clock.advance(SESSION_LIFE_MS);
    expect(pin.knows(session)).toBe(false);
  });

  it('forgets a session that is ended', () => {
    const { door: pin } = door();
    const session = sessionOf(pin.admit(PIN, 'a'));
    pin.forget(session);
    expect(pin.knows(session)).toBe(false);
  });

  it('lets an address guess five times, and then makes it wait twice as long each time, even with the right PIN', async () => {
    const { clock, door: pin } = door();
    for (let guess = 0; guess < 5; guess += 1) expect(pin.admit('0', 'a')).toBe('wrong');
    expect(pin.admit(PIN, 'a')).toEqual({ waitMs: 10_000 });
    await clock.advance(10_000);
    expect(pin.admit('0', 'a')).toBe('wrong');
    expect(pin.admit(PIN, 'a')).toEqual({ waitMs: 20_000 });
    await clock.advance(20_000);
    expect(sessionOf(pin.admit(PIN, 'a'))).not.toBe('');
    for (let guess = 0; guess < 5; guess += 1) expect(pin.admit('0', 'a')).toBe('wrong');
  });

  it('does not make one address wait for another, until all together were wrong thirty times in an hour', async () => {
    const { clock, door: pin } = door();
    for (let address = 0; address < 30; address += 1) expect(pin.admit('0', `guesser-${address}`)).toBe('wrong');
    expect(pin.failures).toBe(30);
    expect(pin.admit(PIN, 'somebody else')).toEqual({ waitMs: HOUR_MS });
    await clock.advance(HOUR_MS);
    expect(sessionOf(pin.admit(PIN, 'somebody else'))).not.toBe('');
  });

  it.each([
    { others: 255, next: { waitMs: 20_000 } },
    { others: 256, next: 'wrong' },
  ])('remembers 256 addresses that were wrong: after $others others the first', async ({ others, next }) => {
    const { clock, door: pin } = door();
    for (let guess = 0; guess < 5; guess += 1) pin.admit('0', 'first');
    for (let other = 0; other < others; other += 1) {
      // All together may be wrong thirty times an hour.
      if (other % 20 === 0) await clock.advance(HOUR_MS);
      expect(pin.admit('0', `other-${other}`)).toBe('wrong');
    }
    await clock.advance(HOUR_MS);
    expect(pin.admit('0', 'first')).toBe('wrong');
    expect(pin.admit('0', 'first')).toEqual(next);
  });

  it('counts a wrong bearer like a wrong guess', () => {
    const { door: pin } = door();
    expect(pin.proves(PIN, 'a')).toBe(true);
    for (let guess = 0; guess < 5; guess += 1) expect(pin.proves('0', 'a')).toBe(false);
    expect(pin.proves(PIN, 'a')).toBe(false);
    expect(pin.proves(PIN, 'b')).toBe(true);
  });

  it('keeps sixty-four sessions; the oldest gives way', () => {
    const { door: pin } = door();
    const sessions = Array.from({ length: 65 }, () => sessionOf(pin.admit(PIN, 'a')));
    expect(sessions.map((session) => pin.knows(session))).toEqual([false, ...Array(64).fill(true)]);
  });
});

import { describe, expect, it } from 'vitest';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { type Admission, PinAccess, SESSION_LIFE_MS } from '../../../src/page-server/pin-access.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const PIN = '471199';

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

  it('lets nobody who guesses keep out the right PIN of another address', () => {
    const { door: pin } = door();
    for (let guess = 0; guess < 10_000; guess += 1) pin.admit('0', `10.0.${guess % 100}.${guess % 250}`);
    expect(sessionOf(pin.admit(PIN, '10.1.0.1'))).not.toBe('');
  });

  it.each([
    ['an IPv6 network', '2001:db8::1', '2001:db8:0:0:ffff::2', '2001:db8:0:1::1'],
    ['a link-local network', 'fe80::1%eth0', 'fe80::abcd:1%eth0', 'fe80:0:0:1::1'],
    ['an IPv4 address in IPv6', '::ffff:192.168.1.5', '192.168.1.5', '::ffff:192.168.1.6'],
  ])('takes the addresses of %s for one client', (_what, one, same, other) => {
    const { door: pin } = door();
    for (let guess = 0; guess < 5; guess += 1) expect(pin.admit('0', one)).toBe('wrong');
    expect(pin.admit(PIN, same)).toEqual({ waitMs: 10_000 });
    expect(sessionOf(pin.admit(PIN, other))).not.toBe('');
  });

  it.each([
    { others: 4_095, next: { waitMs: 10_000 } },
    { others: 4_096, next: 'wrong' },
  ])('remembers 4096 clients that were wrong: after $others others the first', ({ others, next }) => {
    const { door: pin } = door();
    for (let guess = 0; guess < 5; guess += 1) pin.admit('0', 'first');
    for (let other = 0; other < others; other += 1) expect(pin.admit('0', `other-${other}`)).toBe('wrong');
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

import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { AgentLog } from '../../../src/host/log.ts';
import { beginningWithoutSecrets, secretForms, withoutSecrets } from '../../../src/values/secret-forms.ts';

const PROXY = 'http://tech:hunter%3A22%2B@proxy.example:3128';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('what is secret of a proxy’s address', () => {
  it.each([
    ['the address', PROXY],
    ['its password as it is written', 'hunter%3A22%2B'],
    ['its password', 'hunter:22+'],
    ['what a client sends', `Basic ${base64('tech:hunter:22+')}`],
    ['what a client sends that does not decode', `Basic ${base64('tech:hunter%3A22%2B')}`],
    ['its password in JSON', JSON.stringify({ password: 'hunter:22+' })],
    ['its password in Base64', base64('hunter:22+')],
  ])('is %s', (_name, text) => {
    const safe = withoutSecrets(`said ${text} aloud`, secretForms([PROXY]), '[x]');
    expect(safe).toMatch(/^said .*\[x\].* aloud$/);
    expect(safe).not.toMatch(/hunter/);
    expect(safe).not.toContain(text);
  });

  it('is its user where that stands alone', () => {
    const forms = secretForms(['http://proxytoken@proxy.example']);
    expect(withoutSecrets(`proxytoken ${base64('proxytoken:')}`, forms, '[x]')).toBe('[x] [x]');
  });

  it('is nothing of an address without user, nor a password too short to be one', () => {
    expect(withoutSecrets('proxy.example 3128 http', secretForms(['http://proxy.example:3128']), '[x]')).toBe(
      'proxy.example 3128 http',
    );
    expect(withoutSecrets('a pw of two letters', secretForms(['http://a:pw@proxy.example']), '[x]')).toBe(
      'a pw of two letters',
    );
  });

  it('is kept out of the log', () => {
    const lines: string[] = [];
    const log = new AgentLog({ clock: systemClock, level: 'info', sink: { write: (line) => lines.push(line) } });
    log.hide(PROXY);
    log.info({ said: `authorization: Basic ${base64('tech:hunter:22+')}` }, 'password hunter:22+ is wrong');
    expect(lines.join('')).toContain('authorization: Basic [secret]');
    expect(lines.join('')).not.toMatch(/hunter|dGVja/);
  });
});

describe('secrets in a text', () => {
  it('go whole, though one is the beginning of another', () => {
    for (const secrets of [
      ['token-1', 'token-1-and-more'],
      ['token-1-and-more', 'token-1'],
    ])
      expect(withoutSecrets('a token-1-and-more b', secretForms(secrets), '[x]')).toBe('a [x] b');
  });

  it.each([1, 5, 9])('leave nothing behind where the text is cut after %i of their characters', (kept) => {
    const text = `${'.'.repeat(100 - kept)}SecretOfMine and more`;
    expect(beginningWithoutSecrets(text, 100, secretForms(['SecretOfMine']), '[x]')).toBe('.'.repeat(100 - kept));
  });

  it('change nothing where they are not, and the text is not cut', () => {
    expect(beginningWithoutSecrets('it ends in Secret', 100, secretForms(['SecretOfMine']), '[x]')).toBe(
      'it ends in Secret',
    );
  });
});

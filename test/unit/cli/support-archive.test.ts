/** Filter of the support archive on texts whose secrets nobody has told it. */
import { describe, expect, it } from 'vitest';
import { Redactor } from '../../../src/cli/support-archive.ts';

const redacted = (text: string): string => new Redactor().redact(text);

describe('a secret that nobody has told', () => {
  it.each([
    ['accessToken: abc', 'accessToken: [secret]'],
    ['{"password":"a \\" b","x":1}', '{"password":"[secret]","x":1}'],
    ["pin='12 34' next", "pin='[secret]' next"],
    ['TURNSTONE_TOKEN=abc next', 'TURNSTONE_TOKEN=[secret] next'],
    ['"nextToken":"abc"', '"nextToken":"[secret]"'],
    ['my-db-password: abc', 'my-db-password: [secret]'],
    ['?jwt=abc', '?jwt=[secret]'],
    ['{"msg":"{\\"accessToken\\":\\"abc\\"}"}', '{"msg":"{\\"accessToken\\":\\"[secret]\\"}"}'],
    ['{"msg":"{\\"password\\":\\"a b, c\\",\\"x\\":1}"}', '{"msg":"{\\"password\\":\\"[secret]\\",\\"x\\":1}"}'],
    ['password: a,b#c}d]e # why', 'password: [secret] # why'],
    ['[{"pin":1234},{"x":1}] {pin: 1234, x: 1}', '[{"pin":"[secret]"},{"x":1}] {pin: [secret], x: 1}'],
    ['Authorization: Bearer abc.def', 'Authorization: Bearer [secret]'],
    ['"proxy-authorization":"Basic YWJj",', '"proxy-authorization":"Basic [secret]",'],
    ['https://h/api/v1/abc/telemetry', 'https://h/api/v1/[secret]/telemetry'],
    ['http://user:abc@proxy.example', 'http://[secret]@proxy.example'],
    ['https://user:a@b/c@host/x https://h/', 'https://[secret]@host/x https://h/'],
    ['password: two words, and more # why', 'password: [secret] # why'],
    ['- password: two words', '- password: [secret]'],
    ['a:\n  password: two\n    words\n  b: c', 'a:\n  password: [secret]\n    [secret]\n  b: c'],
    ['password: >-\n  two\n\n  words\nb: c', 'password: [secret]\n  [secret]\n\n  [secret]\nb: c'],
    ['accessToken:\n  two words\nb: c', 'accessToken:\n  [secret]\nb: c'],
    ["password='it''s' next", "password='[secret]' next"],
    ['authorization: Token abc', 'authorization: Token [secret]'],
    ['authorization: Own abc', 'authorization: [secret]'],
    ['sent authorization: Own abc next', 'sent authorization: [secret] next'],
    ['sent authorization: Bearer abc next', 'sent authorization: Bearer [secret] next'],
    ['{"authorization":["Bearer a]b", "c"],"x":1}', '{"authorization":"[secret]","x":1}'],
    ['{"msg":"{\\"tokens\\":[\\"a\\"],\\"x\\":1}"}', '{"msg":"{\\"tokens\\":\\"[secret]\\",\\"x\\":1}"}'],
    ['{"token": {"value": "a"}, "x": 1}', '{"token": "[secret]", "x": 1}'],
    [
      '{apiKey: a, passwd: b, psk: c, private_key: d}',
      '{apiKey: [secret], passwd: [secret], psk: [secret], private_key: [secret]}',
    ],
    ['curl --token abc --password=abc -v', 'curl --token [secret] --password=[secret] -v'],
    ['curl -u me:abc https://h/', 'curl -u [secret] https://h/'],
    ['curl -sSu me:a,b}c -v', 'curl -sSu [secret] -v'],
    [
      'curl -ume:abc --user=me:abc --proxy-user me:abc -U :abc -v',
      'curl -u[secret] --user=[secret] --proxy-user [secret] -U [secret] -v',
    ],
    ['curl -u "me:a b" -U \'me:a b\' --user me:"a b" -v', 'curl -u "[secret]" -U \'[secret]\' --user [secret] -v'],
    ['{"msg":"curl -u me:abc","x":1}', '{"msg":"curl -u [secret]","x":1}'],
    ['{"msg":"curl -u \\"me:a b\\" -v","x":1}', '{"msg":"curl -u \\"[secret]\\" -v","x":1}'],
    ['["-u","me:abc","-v"] arguments: [-u, me:abc, -v]', '["-u","[secret]","-v"] arguments: [-u, [secret], -v]'],
    ['- -u\n- me:a b\n- next', '- -u\n- [secret]\n- next'],
    ['["--token","abc","-v"]', '["--token","[secret]","-v"]'],
    ['arguments: [--token, abc, -v]', 'arguments: [--token, [secret], -v]'],
    ['- --token\n- two words\n- next', '- --token\n- [secret]\n- next'],
    ['  - "--token"\n  - "abc"\n  - -v', '  - "--token"\n  - [secret]\n  - -v'],
    ['tokens:\n- abc\n- two words\nnext: 5', 'tokens:\n[secret]\n[secret]\nnext: 5'],
    [
      'pass: a\nDB_PASS=a\npasscode: a\nstatusPin: 1',
      'pass: [secret]\nDB_PASS=[secret]\npasscode: [secret]\nstatusPin: [secret]',
    ],
    [
      'pinCode: 1\nCookie: a=b; c\npassword2: a\ntoken1=a',
      'pinCode: [secret]\nCookie: [secret]\npassword2: [secret]\ntoken1=[secret]',
    ],
    ['[["Authorization","Bearer abc"],["x","y"]]', '[["Authorization","Bearer [secret]"],["x","y"]]'],
    ['{"m":"no token:","token":"abc"}', '{"m":"no token:","token":"[secret]"}'],
    ['{ password: ",abc", x: "y" }', '{ password: "[secret]", x: "y" }'],
    ['a:\r\n  password: two words\r\n  b: c\r\n', 'a:\n  password: [secret]\n  b: c\n'],
    ['password: >-\r\n  two\r\n\r\n  words\r\nb: c', 'password: [secret]\n  [secret]\n\n  [secret]\nb: c'],
    ['- --token\r\n- two words\r\ntokens:\r\n- abc\r\nb: c', '- --token\n- [secret]\ntokens:\n[secret]\nb: c'],
    ['password: two words\rb: c', 'password: [secret]\nb: c'],
    ['"token": |\n  two words\nb: c', '"token": "[secret]"\n  [secret]\nb: c'],
    ["- 'password': two words\n", "- 'password': '[secret]'\n"],
    ['\uFEFFpassword: two words\n', '\uFEFFpassword: [secret]\n'],
    ['password: "two\\\n  words"\nb: c', 'password: "[secret]"\nb: c'],
    ...[',abc', '}abc', ']abc', ', a b'].flatMap((secret) => [
      [`a pipe of 5" has password: "${secret}" set`, 'a pipe of 5" has password: "[secret]" set'],
      [`{ x: 'a " b', password: "${secret}" }`, `{ x: 'a " b', password: "[secret]" }`],
      [`  more", password: "${secret}", pin: "${secret}"}`, '  more", password: "[secret]", pin: "[secret]"}'],
    ]),
    ['accessToken: [secret]', 'accessToken: [secret]'],
    ['{"token":"[secret]"}', '{"token":"[secret]"}'],
  ])('is taken out of %s', (text, safe) => expect(redacted(text)).toBe(safe));

  it.each([
    'accessTokenFile: /etc/token',
    'tokenIn: header',
    'tokenFingerprint: abc',
    'the token is taken',
    'spin: 5',
    'compass: 5',
    '- --token\n- --next',
    '{"m":"a token:","n":"b"}',
    '{"m":"a token: ",\n  "n":"b"}',
    '{"m":"password="}',
    '{"m":"a token:"," n":"b"}',
    '[{"m":"a token:"}, {"":[true,-1.5e3,null,""]}]',
    '{m: "a token:", n: "b"}',
    '"give the token:", then "take it"',
    'provision: 4',
    'file:///lib/getty@tty1',
    'key: 5',
    '--token',
    'docker run --user me -u "me" --username a:b',
    'see journalctl -u turnstone: it says why',
    '["-u","turnstone","a:b"]',
  ])('is not seen in %s', (text) => expect(redacted(text)).toBe(text));

  it('is looked for in no more than the time that a long line has', () => {
    const line = 'a-'.repeat(200_000);
    expect(redacted(line)).toBe(line);
    for (const part of [',a', '}a', '\\', '\\"pin:', 'pin:\\"'])
      expect(redacted(`pin=a${part.repeat(100_000)}`).slice(0, 12)).toBe('pin=[secret]');
    for (const part of [
      'pin:[',
      'pin:["',
      'pin:{',
      'pin:{"',
      "pin:'",
      '--pin ',
      'a://',
      '"pin":[\\"',
      'authorization: ',
      'pin: \n',
      '[\\',
      'pin:",',
      '"authorization",',
      '- --pin\n',
      '-u ',
      '-u a:',
      '-u "',
      '-uu',
      '-u,',
    ])
      expect(redacted(part.repeat(20_000)).length).toBeGreaterThan(0);
  });
});

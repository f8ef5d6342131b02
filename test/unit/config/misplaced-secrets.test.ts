/** Secrets that somebody wrote where they do not belong: neither a fault nor a report shows them. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/config/read-config.ts';
import { shownConfig } from '../../../src/config/shown-config.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-misplaced-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a secret in the wrong place', () => {
  const TOKEN = 'S3CRETtokenABCDEF0123';
  const PLATFORM = 'platform: { url: "https://example.org", accessToken: a }';

  it.each([
    ['as a key of its own field', `platform: { url: "https://example.org", accessToken: { ${TOKEN}: 1 } }`],
    ['as a variable', `platform: { url: "https://example.org", accessToken: "$\{${TOKEN}}" }`],
    ['as a file', `platform: { url: "https://example.org", accessTokenFile: ${TOKEN} }`],
    ['as a credential', `platform: { url: "https://example.org", accessTokenCredential: ${TOKEN} }`],
    [
      'as an unknown key',
      `${PLATFORM}
${TOKEN}: 1`,
    ],
    ['as an unknown key of a section', `platform: { url: "https://example.org", ${TOKEN}: 1 }`],
    ['in an address without a scheme', `platform: { url: "user:${TOKEN}@example.org", accessToken: a }`],
    [
      'beside a program',
      `${PLATFORM}
sensors: [{ name: a, kind: command, program: "/bin/true --token ${TOKEN}", format: number, key: k }]`,
    ],
  ])('is shown neither by a fault nor in what is handed on: %s', async (_where, text) => {
    const file = join(folder, 'turnstone.yaml');
    await writeFile(
      file,
      `version: 1
${text}
`,
      { mode: 0o600 },
    );
    const { faults, warnings } = await readConfig(file, { environment: {} });
    expect(faults.length).toBeGreaterThan(0);
    expect(JSON.stringify([...faults, ...warnings])).not.toContain(TOKEN);
    expect((await shownConfig(await readFile(file), {})).text).not.toContain(TOKEN);
  });

  it.each([
    `${TOKEN}
`,
    `version: ${TOKEN}
${PLATFORM}
`,
  ])('is not shown in the place of everything: %s', async (text) => {
    const file = join(folder, 'turnstone.yaml');
    await writeFile(file, text, { mode: 0o600 });
    expect(JSON.stringify(await readConfig(file, { environment: {} }))).not.toContain(TOKEN);
  });
});

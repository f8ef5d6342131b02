import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseManifest, type ReleaseManifest, unreadableFormats } from '../../../src/firmware/release-manifest.ts';
import { GIVEN_UP_FORMATS, STATE_FORMATS } from '../../../src/firmware/state-formats.ts';

const SRC = resolve(import.meta.dirname, '../../../src');
/** Not below the state folder: the release's own, what commands give to a person as an archive, and what lies in the run folder. */
const NO_STATE = ['turnstone-release', 'turnstone/archive', 'turnstone/actuators-in-force'];

/** Every format that a file of the agent names, with the version it writes there. */
function formatsInSource(): Record<string, number> {
  const found: Record<string, number> = {};
  for (const path of readdirSync(SRC, { recursive: true, encoding: 'utf8' })) {
    if (
      !path.endsWith('.ts') ||
      path.endsWith('.test.ts') ||
      /^stand-ins\//.test(path) ||
      path === 'firmware/state-formats.ts'
    )
      continue;
    const text = readFileSync(join(SRC, path), 'utf8');
    for (const [, name] of text.matchAll(/(?:format: |FORMAT = )'(turnstone[/-][a-z-]+)'/g)) {
      const version = /(?:version: |VERSION(?:: \w+)? = )(\d+)/.exec(text)?.[1];
      if (name !== undefined && !NO_STATE.includes(name)) found[name] = Number(version ?? 1);
    }
  }
  return found;
}

describe('the state formats of a release', () => {
  it('are those that its rooms write', () => {
    const declared = Object.fromEntries(
      Object.entries(STATE_FORMATS).map(([name, versions]) => [name, versions.at(-1)]),
    );
    expect(declared).toEqual(formatsInSource());
    expect(Object.keys(GIVEN_UP_FORMATS).filter((name) => name in declared)).toEqual([]);
  });

  it('are compared with those of the release before', () => {
    const manifest = (stateFormats: object): ReleaseManifest =>
      parseManifest(
        JSON.stringify({
          format: 'turnstone-release',
          version: 1,
          release: '1',
          arch: 'x64',
          node: '24',
          stateFormats,
          files: [{ path: 'a', bytes: 0, sha256: '0'.repeat(64) }],
        }),
      );
    const before = manifest({ outbox: [1, 2], journal: [1] });
    expect(unreadableFormats(manifest({ outbox: [2, 3], journal: [1], more: [1] }), before)).toEqual([]);
    expect(unreadableFormats(manifest({ outbox: [1], journal: [1] }), before)).toEqual(['outbox 2']);
    expect(unreadableFormats(manifest({ outbox: [2] }), before)).toEqual(['journal 1']);
  });
});

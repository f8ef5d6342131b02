import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PageFiles } from '../../../src/host/page-files.ts';

describe('the files of a page', () => {
  it('are compressed once, for all who ask', async () => {
    const files = new PageFiles('status');
    const [first, second] = await Promise.all([files.read('/', 'gzip, br'), files.read('/', 'gzip')]);
    const third = await files.read('/', 'gzip');
    const plain = await files.read('/', undefined);
    expect(first?.bytes).toBe(second?.bytes);
    expect(first?.bytes).toBe(third?.bytes);
    expect([first?.encoding, plain?.encoding, plain?.etag]).toEqual(['gzip', undefined, first?.etag]);
    expect(gunzipSync(first?.bytes ?? '')).toEqual(plain?.bytes);
  });

  it('are those of the page alone', async () => {
    const files = new PageFiles('status');
    for (const path of [
      '/page/platform/app.js',
      '/page/status/none.js',
      '/page/status/../main.js',
      '/page/shared/',
      '/x',
    ])
      expect(await files.read(path, 'gzip')).toBeUndefined();
  });
});

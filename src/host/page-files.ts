/**
 * The files of the pages that browsers get. They are read from the disk when somebody asks, so that an agent nobody looks at holds none of
 * them in memory. A page has its own folder and two that all share: `shared`, and `uplot`.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface PageFile {
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly etag: string;
}

export type PageName = 'status' | 'platform';

/** In a bundle they lie beside the main file, minified; in a checkout with the sources. */
const IS_BUNDLED = process.env.TURNSTONE_VERSION !== undefined;
const FOLDER = join(import.meta.dirname, IS_BUNDLED ? 'pages' : '../pages');
const UPLOT = IS_BUNDLED ? join(FOLDER, 'uplot') : join(import.meta.dirname, '../../node_modules/uplot/dist');
/** Nothing that begins with a dot or leads to another folder. */
const FILE_NAME = /^[a-zA-Z]+(?:[-.][a-zA-Z]+)*\.(js|css)$/;
const CONTENT_TYPE: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/**
 * What the pages' server says of each answer: no other origin is spoken to, nothing inline runs, nobody frames the page.
 * Styles that scripts set on an element are no inline styles in its sense.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; worker-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** The file behind a path: `/` or `/page/<folder>/<file>`; undefined for anything else. */
export async function readPageFile(page: PageName, path: string): Promise<PageFile | undefined> {
  if (path === '/') return load(join(FOLDER, page, 'index.html'), 'html');
  const [, root, folder = '', name = '', ...rest] = path.split('/');
  const kind = FILE_NAME.exec(name)?.[1];
  if (root !== 'page' || kind === undefined || rest.length > 0) return undefined;
  if (folder === 'uplot') return load(join(UPLOT, name), kind);
  return folder === page || folder === 'shared' ? load(join(FOLDER, folder, name), kind) : undefined;
}

/** The file's bytes, made smaller for a browser that takes it so. */
export async function encoded(file: PageFile, acceptEncoding: string | undefined): Promise<{ bytes: Buffer; encoding?: 'gzip' }> {
  if (acceptEncoding?.includes('gzip') !== true) return { bytes: file.bytes };
  return { bytes: await promisify(gzip)(file.bytes), encoding: 'gzip' };
}

async function load(path: string, kind: string): Promise<PageFile | undefined> {
  const bytes = await readFile(path).catch(() => undefined);
  if (bytes === undefined) return undefined;
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 16)}"`;
  return { bytes, contentType: CONTENT_TYPE[kind] ?? 'application/octet-stream', etag };
}

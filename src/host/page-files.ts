/**
 * The files of the pages that browsers get. They are read when somebody asks for them first, so that an agent nobody looks at holds none of
 * them in memory, and kept compressed from then on (some 65 kB). A page has its own folder and three that all share: `shared`, `names`
 * (which the agent reads as well), and `uplot`.
 */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface PageFile {
  readonly bytes: Buffer;
  /** Made smaller for a browser that takes it so. */
  readonly encoding?: 'gzip';
  readonly contentType: string;
  readonly etag: string;
}

interface Packed {
  /** State of the file when it was read. */
  readonly state: string;
  readonly content: Promise<{ readonly etag: string; readonly packed: Buffer }>;
}

export type PageName = 'status' | 'platform';

/** In a bundle they lie beside the main file, joined and minified; in a checkout with the sources. */
const IS_BUNDLED = process.env.TURNSTONE_VERSION !== undefined;
const FOLDER = join(import.meta.dirname, IS_BUNDLED ? 'pages' : '../pages');
const UPLOT = IS_BUNDLED ? join(FOLDER, 'uplot') : join(import.meta.dirname, '../../node_modules/uplot/dist');
/** Nothing that begins with a dot or leads to another folder. */
const FILE_NAME = /^[a-zA-Z0-9]+(?:[-.][a-zA-Z0-9]+)*\.(js|css|svg|webmanifest)$/;
const CONTENT_TYPE: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  webmanifest: 'application/manifest+json',
};

/**
 * Headers of every answer of the pages' server: no other origin is spoken to, nothing inline runs, nobody frames the page.
 * Styles that scripts set on an element are no inline styles in its sense.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // A worker that keeps the page for times without contact is a file of its folder.
  'service-worker-allowed': '/',
};

/** One page's files, for as long as its server lives. */
export class PageFiles {
  readonly #page: PageName;
  /** By path: there are as many as the page has files. */
  readonly #packed = new Map<string, Packed>();

  constructor(page: PageName) {
    this.#page = page;
  }

  /** The file behind a path: `/` or `/page/<folder>/<file>`; undefined for anything else. */
  async read(path: string, acceptEncoding: string | undefined): Promise<PageFile | undefined> {
    const place = placeOf(this.#page, path);
    const found = place === undefined ? undefined : await stat(place.file).catch(() => undefined);
    if (place === undefined || found === undefined) return undefined;
    const { file, kind } = place;
    const contentType = CONTENT_TYPE[kind] ?? 'application/octet-stream';
    const { etag, packed } = await this.#pack(file, `${found.mtimeMs} ${found.size}`);
    if (acceptEncoding?.includes('gzip') === true) return { bytes: packed, encoding: 'gzip', contentType, etag };
    return { bytes: await readFile(file), contentType, etag };
  }

  /** Once for all who ask: a browser opens many at a time, and anybody may ask without end. */
  #pack(file: string, state: string): Packed['content'] {
    const known = this.#packed.get(file);
    if (known?.state === state) return known.content;
    const content = pack(file);
    this.#packed.set(file, { state, content });
    content.catch(() => this.#packed.delete(file));
    return content;
  }
}

function placeOf(page: PageName, path: string): { readonly file: string; readonly kind: string } | undefined {
  if (path === '/') return { file: join(FOLDER, page, 'index.html'), kind: 'html' };
  const [, root, folder = '', name = '', ...rest] = path.split('/');
  const kind = FILE_NAME.exec(name)?.[1];
  if (root !== 'page' || kind === undefined || rest.length > 0) return undefined;
  if (folder === 'uplot') return { file: join(UPLOT, name), kind };
  return folder === page || folder === 'shared' || folder === 'names'
    ? { file: join(FOLDER, folder, name), kind }
    : undefined;
}

async function pack(file: string): Promise<{ readonly etag: string; readonly packed: Buffer }> {
  const bytes = await readFile(file);
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 16)}"`;
  return { etag, packed: await promisify(gzip)(bytes) };
}

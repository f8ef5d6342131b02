/**
 * Builds the site of the papers in build/docs: the pages of docs/ and those beside the README, with a search that runs in the reader's browser.
 * The generator is set up in build/docs-site at the first run, apart from the packages of the project.
 *
 *   npm run docs
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ROOT } from './bundle.ts';

const SETTINGS = join(ROOT, 'scripts/docs-site');
const WORK = join(ROOT, 'build/docs-site');
const PAGES = join(WORK, 'pages');
const OUT = join(ROOT, 'build/docs');
const BESIDE_README = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];
/** Attributes by which a page would load something of another host. */
const FOREIGN = /<(?:script|img|link|iframe)[^>]*(?:src|href)="(?:https?:)?\/\/[^"]*"/;

interface SidebarGroup {
  readonly text: string;
  readonly collapsed?: boolean;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

setUpGenerator();
stagePages();
execFileSync(
  process.execPath,
  [join(WORK, 'node_modules/vitepress/bin/vitepress.js'), 'build', PAGES, '--outDir', OUT],
  {
    stdio: ['ignore', 'ignore', 'inherit'],
  },
);
const faults = faultsOfSite();
for (const fault of faults) console.error(`docs: ${fault}`);
if (faults.length > 0) process.exit(1);
console.log(
  `build/docs: ${filesIn(OUT, '.html').length - 1} pages, with search. To read them: python3 -m http.server -d build/docs`,
);

function setUpGenerator(): void {
  const lock = readFileSync(join(SETTINGS, 'package-lock.json'));
  const stamp = createHash('sha256').update(lock).digest('hex');
  const stampFile = join(WORK, 'node_modules/.set-up');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  console.error('docs: setting up the generator, about 100 MB in build/docs-site');
  mkdirSync(WORK, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(SETTINGS, file), join(WORK, file));
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', WORK], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  writeFileSync(stampFile, stamp);
}

function stagePages(): void {
  for (const folder of [PAGES, OUT]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(PAGES, '.vitepress'), { recursive: true });
  const all = new Set(sources());
  for (const source of all) {
    const page = join(PAGES, pathOnSite(source));
    mkdirSync(dirname(page), { recursive: true });
    writeFileSync(page, withLinksOfSite(source, all));
  }
  cpSync(join(ROOT, 'docs/pictures'), join(PAGES, 'pictures'), { recursive: true });
  // Else the generator takes that of the project.
  writeFileSync(join(PAGES, 'tsconfig.json'), '{}');
  cpSync(join(SETTINGS, 'config.mjs'), join(PAGES, '.vitepress/config.mjs'));
  const sidebar = [...groupsOf('docs/README.md', false), ...groupsOf('docs/reference/README.md', true)];
  writeFileSync(join(PAGES, '.vitepress/site.json'), JSON.stringify({ sidebar }));
}

/** Pages of the project that are on the site. */
function sources(): readonly string[] {
  return [...BESIDE_README, ...filesIn(join(ROOT, 'docs'), '.md').map((file) => `docs/${file}`)];
}

/** Path of a page on the site, whose root is the index of docs/. */
function pathOnSite(source: string): string {
  if (source === 'README.md') return 'project.md';
  if (source === 'SECURITY.md') return 'reporting.md';
  return source
    .replace(/^docs\//, '')
    .replace(/README\.md$/, 'index.md')
    .toLowerCase();
}

/** Text of a page, in which links and pictures lead to those of the site; what is not on it is named without a link. */
function withLinksOfSite(source: string, all: ReadonlySet<string>): string {
  return readFileSync(join(ROOT, source), 'utf8').replace(
    /(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)/g,
    (link, image, text, to, anchor = '') => {
      if (to === '' || /^[a-z]+:/.test(to)) return link;
      const target = join(dirname(source), to);
      if (image !== '') return `![${text}](./${relative(dirname(pathOnSite(source)), pathOnSite(target))})`;
      return all.has(target) ? `[${text}](/${pathOnSite(target)}${anchor})` : text;
    },
  );
}

/** Groups of an index page: its headings, each with the links in the rows of its table. */
function groupsOf(index: string, collapsed: boolean): readonly SidebarGroup[] {
  const parts = readFileSync(join(ROOT, index), 'utf8').split(/^## /m).slice(1);
  return parts.map((part) => {
    const [text = ''] = part.split('\n', 1);
    const rows = [...part.matchAll(/^\| (\[.*?) \|/gm)].map(([, cell]) => cell ?? '');
    const links = rows.flatMap((cell) => [...cell.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)]);
    const items = links.map(([, label = '', to = '']) => ({
      text: label.replaceAll('`', ''),
      link: `/${pathOnSite(join(dirname(index), to)).replace(/\.md$/, '')}`,
    }));
    return { text, collapsed, items };
  });
}

function faultsOfSite(): readonly string[] {
  const asked = sources().length;
  // One more than asked: that of addresses that are none.
  const built = filesIn(OUT, '.html').length - 1;
  const foreign = filesIn(OUT, '.html').filter((file) => FOREIGN.test(readFileSync(join(OUT, file), 'utf8')));
  const hasSearch = filesIn(OUT, '.js').some((file) => file.includes('localSearchIndex'));
  return [
    ...(built === asked ? [] : [`${built} pages were built of ${asked}`]),
    ...foreign.map((file) => `${file} loads something of another host`),
    ...(hasSearch ? [] : ['there is no index for the search']),
  ];
}

function filesIn(folder: string, ending: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith(ending));
}

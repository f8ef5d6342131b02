/** Settings of the site that `npm run docs` builds; scripts/docs-site.ts puts this file, the pages and site.json in one folder. */
import { readFileSync } from 'node:fs';

const { sidebar } = JSON.parse(readFileSync(new URL('site.json', import.meta.url), 'utf8'));

export default {
  title: 'Turnstone',
  description: 'A device agent for Linux gateways',
  lang: 'en',
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar,
    nav: [{ text: 'Reference', link: '/reference/' }],
  },
};

/** Plugins of the bundle's build: each gives the agent a smaller or a movable form of something that it imports. */
import { readFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';

/** Packages are looked for from here. */
const SCRIPTS = import.meta.dirname;

/**
 * `bindings` and `node-gyp-build` search package folders for a module's .node file. In the bundle they become one line that loads
 * it from native/, beside the main file; still only when its package is first used.
 */
export const nativeModulesBesideTheBundle: Plugin = {
  name: 'native-modules',
  setup(plugin) {
    // In a checkout onoff's copy of epoll is asked for by way of its folder, which the bundle does not have.
    plugin.onLoad({ filter: /linux-gpio-character-device\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text.replace(/createRequire\(\w+\.resolve\('onoff'\)\)\('epoll'\)/, "require('epoll')");
      if (contents === text)
        throw new Error('how linux-gpio-character-device.ts loads epoll has changed: scripts/bundle.ts must follow');
      return { contents, loader: 'ts' };
    });
    // Split off, a CommonJS package has a default export only; these are imported by name.
    const NAMES: Readonly<Record<string, string>> = {
      onoff: 'Gpio',
      'i2c-bus': 'openPromisified',
      serialport: 'SerialPort',
    };
    plugin.onResolve({ filter: /^(onoff|i2c-bus|serialport)$/ }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, namespace: 'commonjs' } : undefined,
    );
    plugin.onLoad({ filter: /.*/, namespace: 'commonjs' }, ({ path }) => ({
      contents: `export { ${NAMES[path]} } from ${JSON.stringify(path)};`,
      resolveDir: SCRIPTS,
      loader: 'js',
    }));
    plugin.onResolve({ filter: /^(bindings|node-gyp-build)$/ }, ({ path }) => ({ path, namespace: 'native' }));
    plugin.onLoad({ filter: /.*/, namespace: 'native' }, ({ path }) => ({
      contents:
        path === 'bindings'
          ? "module.exports = (name) => nativeRequire('./native/' + name);"
          : "module.exports = () => nativeRequire('./native/serialport.node');",
      loader: 'js',
    }));
  },
};

/**
 * An ES module's import of a builtin reads every one of its exports at start; that of node:http alone so loads Node's own copy of undici,
 * 60 ms and 6 MB. Here a builtin gives an ES module the names that are used, and a CommonJS module all of it, when that module is used.
 */
export const builtinsWhenUsed: Plugin = {
  name: 'builtins-when-used',
  setup(plugin) {
    const names = builtinModules.flatMap((name) => (name.startsWith('node:') ? [name] : [name, `node:${name}`]));
    plugin.onResolve({ filter: new RegExp(`^(${names.join('|')})$`) }, ({ path, kind }) => ({
      path,
      namespace: kind === 'import-statement' ? 'builtin-names' : 'builtin',
      sideEffects: false,
    }));
    plugin.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
      loader: 'js',
    }));
    plugin.onLoad({ filter: /.*/, namespace: 'builtin-names' }, ({ path }) => {
      const builtin = process.getBuiltinModule(path) as object;
      // What is pure and not used, esbuild leaves out.
      const lines = Object.keys(builtin)
        .filter((name) => name !== 'default')
        .map(
          (name, index) => `const $${index} = /* @__PURE__ */ (() => $all.${name})(); export { $${index} as ${name} };`,
        );
      const all = `const $all = /* @__PURE__ */ process.getBuiltinModule(${JSON.stringify(path)}); export default $all;`;
      return { contents: [all, ...lines].join('\n'), loader: 'js' };
    });
  },
};

/** The parts of undici that the agent uses; its index brings fetch, WebSocket, caches and mocks besides. */
const UNDICI_PARTS: Readonly<Record<string, string>> = {
  Agent: "require('undici/lib/dispatcher/agent.js')",
  Client: "require('undici/lib/dispatcher/client.js')",
  Pool: "require('undici/lib/dispatcher/pool.js')",
  ProxyAgent: "require('undici/lib/dispatcher/proxy-agent.js')",
  buildConnector: "require('undici/lib/core/connect.js')",
};

export const undiciDispatchers: Plugin = {
  name: 'undici-dispatchers',
  setup(plugin) {
    plugin.onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: 'undici-parts' }));
    // Node's HTTP/2 is a twentieth of a start; undici wants it only for a server that speaks it.
    plugin.onLoad({ filter: /undici\/lib\/dispatcher\/client\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text.replace(
        "const connectH2 = require('./client-h2.js')",
        "const connectH2 = (...given) => require('./client-h2.js')(...given)",
      );
      if (contents === text)
        throw new Error('how undici loads its HTTP/2 client has changed: scripts/bundle.ts must follow');
      return { contents, loader: 'js' };
    });
    plugin.onLoad({ filter: /.*/, namespace: 'undici-parts' }, () => ({
      // The index is also what gives dispatchers their methods (`request`, `stream` …).
      contents: [
        "const withCalls = (part) => (Object.assign(require('undici/lib/dispatcher/dispatcher.js').prototype, require('undici/lib/api/index.js')), part);",
        ...Object.entries(UNDICI_PARTS).map(
          ([name, part]) =>
            `Object.defineProperty(exports, '${name}', { enumerable: true, get: () => withCalls(${part}) });`,
        ),
      ].join('\n'),
      resolveDir: SCRIPTS,
      loader: 'js',
    }));
  },
};

/** zod brings its messages in forty languages, a fifth of a megabyte that every start would read. */
export const englishOnly: Plugin = {
  name: 'english-only',
  setup(plugin) {
    plugin.onResolve({ filter: /\/locales\/index\.js$/ }, ({ importer, path, resolveDir }) =>
      importer.includes('/zod/') ? { path: join(resolveDir, path, '../en.js') } : undefined,
    );
  },
};

/**
 * Writes docs/reference: a page for every kind of sensor and actuator, every preset, every model, and one of the error codes.
 *
 *   npm run docs:pages
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './bundle.ts';
import { classPage } from './docs/class-page.ts';
import { configPage } from './docs/config-page.ts';
import { modelPages, presetPages } from './docs/device-pages.ts';
import { errorCodes } from './docs/error-codes.ts';
import { errorPage } from './docs/error-page.ts';
import { actuatorPages, type ReferencePage, sensorPages, sharedPage } from './docs/kind-pages.ts';
import { code, page, part, table } from './docs/markdown.ts';
import { methodPage } from './docs/method-page.ts';

export const REFERENCE = join(ROOT, 'docs/reference');

/** Every page by its path below docs/reference. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const errors = errorCodes();
  const [sensors, actuators, presets, models] = [
    sensorPages(errors),
    actuatorPages(errors),
    await presetPages(),
    await modelPages(),
  ];
  const shared = [configPage(), sharedPage('sensor'), sharedPage('actuator'), classPage(), methodPage()];
  const all = [...sensors, ...actuators, ...presets, ...models, ...shared].map(
    ({ path, text }) => [path, text] as const,
  );
  return new Map([
    ['README.md', indexPage({ shared, sensors, actuators, presets, models })],
    ['errors.md', errorPage(errors)],
    ...all,
  ]);
}

type Groups = Readonly<Record<'shared' | 'sensors' | 'actuators' | 'presets' | 'models', readonly ReferencePage[]>>;

function indexPage({ shared, sensors, actuators, presets, models }: Groups): string {
  return page('Reference', [
    'A page for each kind of sensor and actuator, and for each device that is known by name.',
    part(
      'Options that all have, and errors',
      rowsOf('Page', 'Has', shared, {
        path: 'errors.md',
        name: 'error codes',
        says: 'Every error code, with its messages.',
      }),
    ),
    part('Sensors', rowsOf('Kind', 'Measures', sensors)),
    part('Actuators', rowsOf('Kind', 'Moves', actuators)),
    part(
      'Devices on a serial line',
      `They are presets of a ${code('serial-line')} sensor.`,
      rowsOf('Preset', 'Device', presets),
    ),
    part(
      'Meters, inverters, chargers and others with Modbus',
      `They are models of a ${code('modbus')} sensor.`,
      rowsOf('Model', 'Device', models),
    ),
  ]);
}

type Line = Pick<ReferencePage, 'path' | 'name' | 'says'>;

function rowsOf(head: string, says: string, lines: readonly Line[], ...more: readonly Line[]): string | undefined {
  return table(
    [head, says],
    [...lines, ...more].map((line) => [`[${line.name}](${line.path})`, line.says]),
  );
}

/** Files that lie below docs/reference now. */
export function writtenPages(): ReadonlyMap<string, string> {
  const files = readdirSync(REFERENCE, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [path.slice(REFERENCE.length + 1), readFileSync(path, 'utf8')]));
}

if (import.meta.main) {
  const pages = await referencePages();
  rmSync(REFERENCE, { recursive: true, force: true });
  for (const [path, text] of pages) {
    const file = join(REFERENCE, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  console.log(`${pages.size} pages in docs/reference`);
}

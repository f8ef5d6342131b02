/**
 * Turns items that use a template, or stand for several, into plain ones before anything looks at them; a fault of one of them keeps its place in
 * the file.
 *
 *   templates: { meter: {…} }   sensors: [{ template: meter, count: 10, name: "meter{n}" }]   →   sensors: [{ name: meter1, … }, …]
 */
import { isForDevices, sectionsOfDevices } from './device-levels.ts';
import type { ConfigFault, ConfigPath, PathFault } from './fields/config-fault.ts';
import { depthIn, pathText } from './fields/config-fault.ts';
import { didYouMeanWhenTold, oneOf } from './fields/did-you-mean.ts';
import { type Finding, finding, findingAtKey } from './fields/findings.ts';
import { MAX_ITEMS } from './fields/max-items.ts';
import { filled, isMapping, isWords, type Mapping, TemplateSize, type Words } from './template-words.ts';
import type { YamlSource } from './yaml/yaml-source.ts';

/** Values of all items together: 1,000 sensors with a hundred values each. */
const MAX_VALUES = 100_000;
/** And their texts: forty characters for each of these values. */
const MAX_CHARACTERS = 4_000_000;
const SECTIONS = ['devices', 'sensors', 'actuators'] as const;
const REPEATS = ['count', 'each'] as const;
/** Another item of the expanded list in the words of a fault. */
const ITEM = /\b(devices|sensors|actuators)\[(\d+)\]/g;

type Section = (typeof SECTIONS)[number];
/** Where an item of the expanded list is written. */
interface Origin {
  readonly item: ConfigPath;
  readonly template?: string;
  readonly name?: string;
}

interface Item extends Origin {
  readonly value: unknown;
}

export interface ExpandedSource extends YamlSource {
  readonly warnings: readonly ConfigFault[];
}

/** The source with plain items, and the faults of those that could not be made; it is the same one where there is nothing to expand. */
export function expandTemplates(source: YamlSource): ExpandedSource {
  const { tree } = source;
  if (
    !isMapping(tree) ||
    !(
      Object.hasOwn(tree, 'templates') ||
      SECTIONS.some((section) => listOf(tree, section).some(isExpandable)) ||
      listOf(tree, 'sensors').some(isForDevices)
    )
  )
    return { ...source, warnings: [] };
  const { templates = {}, ...expanded }: Record<string, unknown> = tree;
  const expander = new Expander(templates);
  const origins = new Map<unknown, readonly Origin[]>();
  for (const section of SECTIONS) {
    if (!Array.isArray(tree[section])) continue;
    const written = expander.expand(section, tree[section]);
    const items = section === 'sensors' ? expander.expandDevices(written, expanded.devices) : written;
    origins.set(section, items);
    expanded[section] = items.map(({ value }) => value);
  }
  const origin: YamlSource['origin'] = (path) => {
    const [section, index, ...rest] = path;
    const found = origins.get(section)?.[Number(index)];
    if (found === undefined) return { path };
    const { item, template, name } = found;
    const isOfTemplate =
      template !== undefined && depthIn(expander.templates[template], rest) > depthIn(valueAt(tree, item), rest);
    return {
      path: [...(isOfTemplate ? ['templates', template] : item), ...rest],
      of: name,
    };
  };
  const inFile = (fault: PathFault): PathFault => {
    const named = (text: string, section: string, index: string): string => {
      const { path, of } = origin([section, Number(index)]);
      return of === undefined ? (path.length === 2 ? pathText(path) : text) : of;
    };
    return { ...fault, path: origin(fault.path).path, expected: fault.expected.replace(ITEM, named) };
  };
  return {
    tree: expanded,
    faults: [...source.faults, ...expander.faults.map((fault) => source.locate(fault))],
    warnings: expander.warnings.map((fault) => source.locate(fault)),
    origin,
    place: (fault) => source.place(inFile(fault)),
    locate: (fault, isSecret) => source.locate(inFile(fault), isSecret),
  };
}

class Expander {
  readonly templates: Mapping;
  readonly faults: Finding[] = [];
  readonly warnings: Finding[] = [];
  #values = 0;
  #characters = 0;

  constructor(templates: unknown) {
    this.templates = isMapping(templates) ? templates : {};
    if (!isMapping(templates))
      this.faults.push(finding(['templates'], 'wrong value', 'a mapping of names and templates'));
    for (const [name, template] of Object.entries(this.templates)) {
      const path = ['templates', name];
      if (!isMapping(template)) this.faults.push(finding(path, 'wrong value', 'a mapping of keys and values'));
      else if (isExpandable(template))
        this.faults.push(findingAtKey(path, 'a template within a template', 'no template, count or each in it'));
    }
  }

  expand(section: Section, list: readonly unknown[]): readonly Item[] {
    const items: Item[] = [];
    for (const [index, written] of list.entries()) {
      const path = [section, index];
      if (!isMapping(written) || !isExpandable(written)) items.push({ value: written, item: path });
      else {
        const instances = this.#instancesOf(written, path);
        if (!this.#hasPlaceFor(section, items.length + instances.length, path)) return items;
        items.push(...this.#itemsOf(written, path, instances));
      }
    }
    return items;
  }

  /** Makes one of each sensor that stands for several devices. */
  expandDevices(sensors: readonly Item[], devices: unknown): readonly Item[] {
    const slots = (Array.isArray(devices) ? devices : []).flatMap((device: unknown) =>
      isMapping(device) && typeof device.name === 'string' ? [device.name] : [],
    );
    const items: Item[] = [];
    for (const sensor of sensors) {
      const { value, item, template } = sensor;
      const made = isForDevices(value) ? sectionsOfDevices(value, slots) : undefined;
      if (made === undefined) {
        items.push(sensor);
        continue;
      }
      const words = made.map(() => ({}));
      if (!this.#hasPlaceFor('sensors', items.length + made.length, item)) return items;
      if (!this.#hasRoomFor(new TemplateSize(value), words, item)) return items;
      items.push(...made.map((one) => ({ value: one, item, template, name: String(one.name) })));
    }
    return items;
  }

  #itemsOf(written: Mapping, path: ConfigPath, instances: readonly Words[]): readonly Item[] {
    const { count: _count, from: _from, each: _each, ...own }: Record<string, unknown> = written;
    const template = usesTemplate(written) ? written.template : undefined;
    if (template !== undefined) delete own.template;
    const base = template === undefined ? {} : this.#templateOf(template, path);
    if (base === undefined) return [];
    const merged = mergedMapping(base, own);
    // Devices have no place: their sensors have.
    if (path[0] !== 'devices') this.#warnOfOnePlace(merged, instances, path);
    if (!this.#hasRoomFor(new TemplateSize(merged), instances, path)) return [];
    return instances.map((words) => {
      const value = filled(merged, words) as Mapping;
      const name = typeof value.name === 'string' ? value.name : undefined;
      return {
        value,
        item: path,
        template: typeof template === 'string' ? template : undefined,
        name,
      };
    });
  }

  /** Finds items that differ in names alone, and so read one device several times. */
  #warnOfOnePlace(
    { name: _name, prefix: _prefix, device: _device, ...others }: Mapping,
    instances: readonly Words[],
    path: ConfigPath,
  ): void {
    const [first, second] = instances;
    if (first === undefined || second === undefined || new TemplateSize(others).uses(first)) return;
    const expected = 'a word in its place, too, such as unitId: "{n}"';
    this.warnings.push(
      finding(path, `${instances.length} items that differ in name and prefix alone`, expected, { value: '' }),
    );
  }

  #hasPlaceFor(section: Section, count: number, path: ConfigPath): boolean {
    const max = MAX_ITEMS[section];
    if (count > max) this.faults.push(finding(path, `more than ${max} ${section} with those of`, `at most ${max}`));
    return count <= max;
  }

  /** Looks before anything is made: a short file can say a long text a thousand times. */
  #hasRoomFor(size: TemplateSize, instances: readonly Words[], path: ConfigPath): boolean {
    this.#values += instances.length * size.values;
    for (const words of instances) this.#characters += size.charactersWith(words);
    const isTooMany = this.#values > MAX_VALUES;
    if (!isTooMany && this.#characters <= MAX_CHARACTERS) return true;
    const expected = `at most ${isTooMany ? `${MAX_VALUES} values` : `${MAX_CHARACTERS} characters`} in all`;
    this.faults.push(finding(path, 'too much from templates', expected, { value: '' }));
    return false;
  }

  #templateOf(name: unknown, path: ConfigPath): Mapping | undefined {
    const names = Object.keys(this.templates);
    const found = typeof name === 'string' && Object.hasOwn(this.templates, name) ? this.templates[name] : undefined;
    if (found === undefined) {
      const expected = names.length === 0 ? 'the name of a template; there are none under templates' : oneOf(names);
      this.faults.push({
        ...finding([...path, 'template'], 'unknown template', expected),
        ...didYouMeanWhenTold(String(name), names),
      });
    }
    return isMapping(found) ? found : undefined;
  }

  #instancesOf({ count, from = 1, each }: Mapping, path: ConfigPath): readonly Words[] {
    const wrong = (key: string, expected: string): readonly Words[] => {
      this.faults.push({ path: [...path, key], expected });
      return [];
    };
    if (count !== undefined && each !== undefined) return wrong('each', 'either count or each');
    if (!isWhole(from, 0, 1_000_000)) return wrong('from', 'a number from 0 to 1000000');
    if (each === undefined) {
      if (count === undefined) return [{}];
      if (!isWhole(count, 1, MAX_ITEMS.sensors)) return wrong('count', `a number from 1 to ${MAX_ITEMS.sensors}`);
      return Array.from({ length: count }, (_, index) => ({ n: from + index }));
    }
    if (!Array.isArray(each) || each.length > MAX_ITEMS.sensors || !each.every(isWords))
      return wrong('each', 'a list of mappings with a text or a number for each word: [{ n: 21, place: roof }]');
    return each.map((words, index) => ({ n: from + index, ...words }));
  }
}

function listOf(tree: Mapping, section: Section): readonly unknown[] {
  const list = tree[section];
  return Array.isArray(list) ? list : [];
}

function isExpandable(item: unknown): boolean {
  return isMapping(item) && (usesTemplate(item) || REPEATS.some((key) => Object.hasOwn(item, key)));
}

/** An item has its kind from its template; beside a kind `template` is that kind's own option. */
function usesTemplate(item: Mapping): boolean {
  return Object.hasOwn(item, 'template') && !Object.hasOwn(item, 'kind');
}

function isWhole(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

/** The item's own values over those of the template; what is a mapping in both is merged. */
function mergedMapping(base: Mapping, own: Mapping): Mapping {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(own)) {
    const below = Object.hasOwn(base, key) ? base[key] : undefined;
    merged[key] = isMapping(below) && isMapping(value) ? mergedMapping(below, value) : value;
  }
  return merged;
}

function valueAt(tree: unknown, path: ConfigPath): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[key] : undefined,
    tree,
  );
}

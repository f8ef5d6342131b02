/**
 * The pieces of a dashboard as the platform's editor would have saved them (4.x). Everything is made from names alone, ids too, so that the
 * same dashboard is the same bytes each time.
 */
import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../../values/json.ts';

export interface Place {
  readonly row: number;
  readonly col: number;
  readonly width: number;
  readonly height: number;
}

export interface Widget extends Place {
  readonly id: string;
  readonly json: JsonObject;
}

export interface DataKey {
  readonly key: string;
  readonly label: string;
  readonly unit?: string;
  readonly type?: 'timeseries' | 'attribute' | 'entityField';
  readonly decimals?: number;
  /** Body of a function that makes of `value` what is shown; the platform's page runs it. */
  readonly show?: string;
}

type WidgetType = 'latest' | 'timeseries' | 'alarm' | 'rpc';

/** Distinct on white, and for those who see no red or no green. */
const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#555555'];
const DAY_MS = 86_400_000;
/** A chart that shows a legend fails as a whole without this: the page's own default comes too late. */
const LEGEND: JsonObject = {
  direction: 'column',
  position: 'top',
  sortDataKeys: false,
  showMin: false,
  showMax: false,
  showAvg: false,
  showTotal: false,
  showLatest: true,
};
export const COLUMNS = 24;

/** The ids of the two aliases that every dashboard has: all devices of the type, and the one that is looked at. */
export const DEVICES = idOf('alias devices');
export const THIS_DEVICE = idOf('alias this device');

/** A version 4 UUID made of a name. */
export function idOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export function dataKeys(keys: readonly DataKey[]): readonly JsonObject[] {
  return keys.map(({ key, label, unit = null, type = 'timeseries', decimals = null, show = null }, at) => ({
    name: key,
    type,
    label,
    color: COLOURS[at % COLOURS.length] as string,
    settings: {},
    _hash: Number.parseInt(createHash('sha256').update(`${key} ${label}`).digest('hex').slice(0, 3), 16) / 10_000,
    units: unit,
    decimals,
    funcBody: null,
    usePostProcessing: show === null ? null : true,
    postFuncBody: show,
    aggregationType: null,
  }));
}

/** Where a widget gets its values. */
export function source(aliasId: string, keys: readonly DataKey[]): JsonObject {
  return { type: 'entity', name: '', entityAliasId: aliasId, filterId: null, dataKeys: dataKeys(keys) };
}

export function widget(
  name: string,
  place: Place,
  {
    type,
    fqn,
    title,
    settings = {},
    more = {},
  }: WidgetKind & { readonly settings?: JsonObject; readonly more?: JsonObject },
): Widget {
  const id = idOf(`widget ${name}`);
  const config: JsonObject = {
    title,
    showTitle: true,
    backgroundColor: '#ffffff',
    color: 'rgba(0, 0, 0, 0.87)',
    padding: '8px',
    settings,
    dropShadow: true,
    enableFullscreen: type !== 'rpc',
    widgetStyle: {},
    widgetCss: '',
    actions: {},
    showLegend: false,
    titleStyle: { fontSize: '16px', fontWeight: 400 },
    useDashboardTimewindow: true,
    displayTimewindow: false,
    showTitleIcon: false,
    titleTooltip: '',
    noDataDisplayMessage: '',
    pageSize: 1024,
    configMode: 'basic',
    datasources: [],
    ...more,
  };
  const json = {
    typeFullFqn: `system.${fqn}`,
    type,
    sizeX: place.width,
    sizeY: place.height,
    row: 0,
    col: 0,
    id,
    config,
  };
  return { ...place, id, json };
}

interface WidgetKind {
  readonly type: WidgetType;
  /** Its name among the platform's own widgets. */
  readonly fqn: string;
  readonly title: string;
}

export function chart(name: string, title: string, place: Place, keys: readonly DataKey[]): Widget {
  return widget(name, place, {
    type: 'timeseries',
    fqn: 'time_series_chart',
    title,
    settings: { showLegend: true, legendConfig: LEGEND, dataZoom: true },
    more: { datasources: [source(THIS_DEVICE, keys)] },
  });
}

/** A table of all devices; a click on a row opens the state of that device. */
export function deviceTable(name: string, title: string, place: Place, keys: readonly DataKey[]): Widget {
  const open = {
    id: idOf(`action ${name}`),
    name: 'open',
    icon: 'more_horiz',
    type: 'openDashboardState',
    targetDashboardStateId: 'device',
    setEntityId: true,
    stateEntityParamName: null,
    openRightLayout: false,
  };
  return widget(name, place, {
    type: 'latest',
    fqn: 'cards.entities_table',
    title,
    settings: {
      entitiesTitle: title,
      enableSearch: true,
      enableSelectColumnDisplay: true,
      enableStickyHeader: true,
      enableStickyAction: false,
      displayEntityName: true,
      entityNameColumnTitle: 'Device',
      displayEntityLabel: false,
      displayEntityType: false,
      displayPagination: true,
      defaultPageSize: 20,
      defaultSortOrder: 'entityName',
      useRowStyleFunction: false,
    },
    more: { datasources: [source(DEVICES, keys)], actions: { rowClick: [open] } },
  });
}

export interface DashboardParts {
  readonly title: string;
  /** The platform's type of a device is the name of its profile. */
  readonly deviceType: string;
  readonly all: readonly Widget[];
  readonly one: readonly Widget[];
}

/** The whole, with two states: all devices, and one of them. */
export function dashboard({ title, deviceType, all, one }: DashboardParts): JsonObject {
  const configuration: JsonObject = {
    widgets: Object.fromEntries([...all, ...one].map(({ id, json }) => [id, json])),
    states: { default: state(title, true, all), device: state(`${'$'}{entityName}`, false, one) },
    entityAliases: {
      [DEVICES]: alias(DEVICES, 'Devices', {
        type: 'deviceType',
        resolveMultiple: true,
        deviceTypes: [deviceType],
        deviceNameFilter: '',
      }),
      [THIS_DEVICE]: alias(THIS_DEVICE, 'This device', {
        type: 'stateEntity',
        resolveMultiple: false,
        stateEntityParamName: null,
        defaultStateEntity: null,
      }),
    },
    filters: {},
    timewindow: {
      displayValue: '',
      hideAggregation: false,
      hideAggInterval: false,
      hideTimezone: false,
      selectedTab: 0,
      realtime: { realtimeType: 0, interval: 300_000, timewindowMs: DAY_MS, quickInterval: 'CURRENT_DAY' },
      history: { historyType: 0, interval: 300_000, timewindowMs: DAY_MS, quickInterval: 'CURRENT_DAY' },
      aggregation: { type: 'AVG', limit: 25_000 },
    },
    settings: {
      stateControllerId: 'entity',
      showTitle: false,
      showDashboardsSelect: true,
      showEntitiesSelect: true,
      showFilters: false,
      showDashboardTimewindow: true,
      showDashboardExport: true,
      toolbarAlwaysOpen: true,
      hideToolbar: false,
      titleColor: 'rgba(0,0,0,0.870588)',
      showDashboardLogo: false,
      dashboardLogoUrl: null,
      showUpdateDashboardImage: true,
      dashboardCss: '',
    },
  };
  return { title, image: null, mobileHide: false, mobileOrder: null, configuration };
}

function alias(id: string, name: string, filter: JsonValue): JsonObject {
  return { id, alias: name, filter };
}

function state(name: string, root: boolean, widgets: readonly Widget[]): JsonObject {
  const places = widgets.map(({ id, row, col, width, height }) => [id, { sizeX: width, sizeY: height, row, col }]);
  const gridSettings = {
    layoutType: 'default',
    backgroundColor: '#eeeeee',
    backgroundSizeMode: '100%',
    columns: COLUMNS,
    margin: 10,
    outerMargin: true,
    autoFillHeight: false,
    mobileAutoFillHeight: false,
    mobileRowHeight: 70,
    viewFormat: 'grid',
  };
  return { name, root, layouts: { main: { widgets: Object.fromEntries(places), gridSettings } } };
}

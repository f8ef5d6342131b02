/** REST: dashboards, customers, and calculated fields of profiles, which are the platform's alarm rules since 4.3. Nothing is computed of them. */
import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../values/json.ts';
import type { KeptTable } from './device-registry.ts';
import { checkVersion, existing, jsonReply, PayloadFault, type Reply, requiredText } from './http-reply.ts';
import type { Call, Routes } from './http-service.ts';
import type { LibraryItem } from './library-item.ts';
import type { LocalPlatform } from './local-platform.ts';
import { entityId, idIn, objectIn, page, TENANT_ID } from './payload.ts';

/** Members that the platform itself gives. */
const OWN = ['id', 'createdTime', 'tenantId', 'version'];
const SEVERITIES = ['CRITICAL', 'MAJOR', 'MINOR', 'WARNING', 'INDETERMINATE'];

export function restLibraryRoutes(platform: LocalPlatform): Routes {
  const { people, state } = platform;
  const { dashboards, customers, calculatedFields } = state;
  return {
    'POST /api/dashboard': people.admins((call) => save(platform, dashboards, 'DASHBOARD', call, checkDashboard)),
    'GET /api/dashboard/:id': people.users((call) =>
      jsonReply(itemJson('DASHBOARD', existing(dashboards.byId(call.params.id ?? '')))),
    ),
    'GET /api/tenant/dashboards': people.admins((call) => {
      const all = dashboards.all.map((item) => {
        const { configuration: _heavy, ...info } = itemJson('DASHBOARD', item);
        return info;
      });
      return paged(searched(all, 'title', call), call);
    }),
    'POST /api/customer': people.admins((call) =>
      save(platform, customers, 'CUSTOMER', call, (body, others) => {
        const title = namedIn(body.title, 'Customer title');
        if (others.some((other) => other.title === title))
          throw new PayloadFault('Customer with such title already exists!');
      }),
    ),
    'POST /api/customer/:customer/dashboard/:id': people.admins(({ params }) => {
      const customer = existing(customers.byId(params.customer ?? ''));
      const item = existing(dashboards.byId(params.id ?? ''));
      const before = Array.isArray(item.body.assignedCustomers)
        ? (item.body.assignedCustomers as readonly JsonObject[])
        : [];
      const others = before.filter((one) => idIn(one.customerId) !== customer.id);
      const one = { customerId: entityId('CUSTOMER', customer.id), title: customer.body.title ?? null, public: false };
      const changed = {
        ...item,
        version: item.version + 1,
        body: { ...item.body, assignedCustomers: [...others, one] },
      };
      dashboards.put(changed);
      return jsonReply(itemJson('DASHBOARD', changed));
    }),
    'GET /api/tenant/customers': people.admins((call) => {
      const title = requiredText(call.query, 'customerTitle');
      return jsonReply(itemJson('CUSTOMER', existing(customers.all.find(({ body }) => body.title === title))));
    }),
    'POST /api/calculatedField': people.admins((call) =>
      save(platform, calculatedFields, 'CALCULATED_FIELD', call, (body, others) => checkField(platform, body, others)),
    ),
    'GET /api/calculatedFields': people.admins((call) => {
      const entities = call.query.get('entities')?.split(',');
      const types = call.query.get('types')?.split(',');
      const own = calculatedFields.all.filter(({ body }) => entities?.includes(idIn(body.entityId) ?? '') ?? true);
      const shown = own
        .filter(({ body }) => types?.includes(String(body.type)) ?? true)
        .map((item) => itemJson('CALCULATED_FIELD', item));
      return paged(searched(shown, 'name', call), call);
    }),
  };
}

/** Those in whose text the search occurs, in any case of letters. */
export function searched(items: readonly JsonObject[], member: string, call: Call): readonly JsonObject[] {
  const sought = call.query.get('textSearch')?.toLowerCase() ?? '';
  return sought === '' ? items : items.filter((item) => String(item[member]).toLowerCase().includes(sought));
}

/** A page whose size and number are asked for. @throws RequestFault without them, as the real server. */
function paged(items: readonly JsonObject[], call: Call): Reply {
  requiredText(call.query, 'pageSize');
  requiredText(call.query, 'page');
  return jsonReply(page(items, call.query));
}

function save(
  { settings }: LocalPlatform,
  table: KeptTable<LibraryItem>,
  entityType: string,
  call: Call,
  check: (body: JsonObject, others: readonly JsonObject[]) => void,
): Reply {
  const document = objectIn(call);
  const id = idIn(document.id);
  const before = id === undefined ? undefined : existing(table.byId(id));
  const body = Object.fromEntries(Object.entries(document).filter(([member]) => !OWN.includes(member)));
  check(
    body,
    table.all.filter((other) => other.id !== id).map((other) => other.body),
  );
  if (before !== undefined) checkVersion(document.version, before.version);
  const createdMs = before?.createdMs ?? settings.clock.wallMs();
  const item: LibraryItem = { id: id ?? randomUUID(), createdMs, version: (before?.version ?? 0) + 1, body };
  table.put(item);
  return jsonReply(itemJson(entityType, item));
}

function itemJson(entityType: string, { id, createdMs, version, body }: LibraryItem): JsonObject {
  return {
    ...body,
    id: entityId(entityType, id),
    createdTime: createdMs,
    tenantId: entityId('TENANT', TENANT_ID),
    version,
  };
}

function checkDashboard(body: JsonObject): void {
  namedIn(body.title, 'Dashboard title');
}

/** @throws PayloadFault for what the real server refuses of an alarm rule. */
function checkField({ state }: LocalPlatform, body: JsonObject, others: readonly JsonObject[]): void {
  const name = namedIn(body.name, 'Calculated field name');
  const { configuration } = body;
  const id = idIn(body.entityId);
  if (id === undefined || state.registry.profiles.byId(id) === undefined)
    throw new PayloadFault('Calculated field entity should be specified!');
  if (body.type !== 'ALARM' || !isJsonObject(configuration) || configuration.type !== 'ALARM')
    throw new PayloadFault('Only calculated fields of type ALARM are known here!');
  const { createRules } = configuration;
  const isRuled = isJsonObject(createRules) && Object.keys(createRules).length > 0;
  if (!isRuled || !Object.keys(createRules).every((severity) => SEVERITIES.includes(severity)))
    throw new PayloadFault('createRules must not be empty');
  if (!isJsonObject(configuration.arguments) || Object.keys(configuration.arguments).length === 0)
    throw new PayloadFault('arguments must not be empty');
  if (others.some((other) => other.name === name && idIn(other.entityId) === id))
    throw new PayloadFault('Calculated Field with such name and type is already in exists!');
}

function namedIn(value: unknown, what: string): string {
  if (typeof value !== 'string' || value.trim() === '') throw new PayloadFault(`${what} should be specified!`);
  return value;
}

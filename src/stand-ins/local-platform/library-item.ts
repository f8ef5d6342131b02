/** Things that people make beside devices, and that the platform keeps as they came: dashboards, customers, calculated fields. */
import type { JsonObject } from '../../values/json.ts';

export interface LibraryItem {
  readonly id: string;
  readonly createdMs: number;
  /** Counted up by each change; who changes an item says which one it has read. */
  readonly version: number;
  /** All the rest of it. */
  readonly body: JsonObject;
}

/** Options of commands that fetch a report of the analytics service. */
import { argument, list, taking, type Values, valued } from './command.ts';

/** Read when neither a file nor the configuration has the password. */
export const PASSWORD_VARIABLE = 'TURNSTONE_ANALYTICS_PASSWORD';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const VIEW = {
  viewId: argument('UUID of the saved view', {
    parse: taking('a view is named by its UUID, the last part of its link', (text) => UUID.exec(text)?.[0]),
  }),
};
export const ANALYTICS_OPTIONS = {
  config: valued('<file>', 'configuration with an analytics section'),
  url: valued('<address>', 'the analytics service, in place of analytics.url'),
  authUrl: valued('<address>', 'the platform to log in at, in place of analytics.authUrl'),
  basePath: valued('<path>', 'path of its API, in place of analytics.basePath'),
  user: valued('<name>', 'who logs in, in place of analytics.user'),
  passwordFile: valued('<file>', `the password, from a file; otherwise $${PASSWORD_VARIABLE}, the configuration, or a prompt`),
};
export type AnalyticsFlags = Values<typeof ANALYTICS_OPTIONS>;
export const RANGE_OPTIONS = {
  from: valued('<time>', 'beginning of the range'),
  to: valued('<time>', 'end of the range'),
  last: valued('<duration>', 'the range up to now'),
  filter: list('<name=a,b>', 'values of one of the filters of the view (repeatable)'),
};

/** Options of earlier releases, by path, and what is expected instead of each. */
export const MOVED: Readonly<Record<string, string>> = {
  'platform.dailyBudget': 'link.daily, which counts both directions, with TLS and TCP/IP',
};

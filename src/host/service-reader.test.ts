import { expect, it } from 'vitest';
import { serviceMayRead } from './service-reader.ts';

const file = (uid: number, gid: number, mode: number) => ({ uid, gid, mode, group: String(gid) });
const FILES: Readonly<Record<string, ReturnType<typeof file>>> = {
  '/': file(0, 0, 0o755),
  '/nowhere': file(0, 0, 0o755),
  '/nowhere/etc': file(0, 900, 0o750),
  '/nowhere/etc/token': file(0, 0, 0o600),
  '/nowhere/etc/shared': file(0, 900, 0o640),
  '/nowhere/etc/own': file(900, 0, 0o400),
  '/nowhere/root': file(0, 0, 0o700),
  '/nowhere/root/open': file(0, 0, 0o644),
};
const machine = {
  user: async (name?: string) => ({ name: name ?? '', uid: 900, groupIds: [900] }),
  file: async (path: string) => FILES[path],
};

it('tells root which files the service may read, by owner, group and mode of each step', async () => {
  const mayRead = await serviceMayRead(machine, true);
  const told = Object.keys(FILES).filter((path) => path.split('/').length === 4);
  const asked = await Promise.all(told.map(async (path) => [path.split('/').at(-1), await mayRead?.(path)]));
  expect(Object.fromEntries(asked)).toEqual({ token: false, shared: true, own: true, open: false });
});

it('is not asked by another user, nor where the service has none', async () => {
  expect(await serviceMayRead(machine, false)).toBeUndefined();
  expect(await serviceMayRead({ ...machine, user: async () => undefined }, true)).toBeUndefined();
});

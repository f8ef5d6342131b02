/** Loaded before a program, it makes that program a build without fdatasync and synchronous writes: the lab must notice. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { O_DSYNC, O_SYNC } = fs.constants;
const open = fs.open as (
  path: fs.PathLike,
  flags: number | string,
  mode: fs.Mode,
  done: (error: Error | null, fd: number) => void,
) => void;
const forget = ((_fd: number, done: (error: null) => void) => setImmediate(done, null)) as unknown as typeof fs.fsync;

fs.open = ((
  path: fs.PathLike,
  flags: number | string,
  mode: fs.Mode,
  done: (error: Error | null, fd: number) => void,
) =>
  open(path, typeof flags === 'number' ? flags & ~(O_SYNC | O_DSYNC) : flags, mode, done)) as unknown as typeof fs.open;
fs.fsync = forget;
fs.fdatasync = forget;
syncBuiltinESMExports();

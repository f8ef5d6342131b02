/**
 * Identity of this board: serial number, MAC address, machine id, host name. Some of it only root can read; systemd/leave-identity, which runs
 * before the service, leaves it in `<run folder>/identity`, one file each. Values that makers print on every board alike do not count.
 */

import { createHmac } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';

export interface BoardIdentity {
  /** From the device tree, else from DMI. */
  readonly serial?: string;
  /** MAC address of the first wired interface that is soldered on, else the first wireless one; lower case, without separators. */
  readonly mac?: string;
  /** MAC addresses of its other interfaces that are soldered on: one that is late at a start is no other board. */
  readonly otherMacs?: readonly string[];
  /** Derived from /etc/machine-id for this program alone, as systemd's sd_id128_get_machine_app_specific does; 32 hex digits. */
  readonly machineId?: string;
  readonly hostname: string;
}

export interface IdentitySources {
  /** Where root left what only it can read; default /run/turnstone. */
  readonly runFolder?: string;
  /** The file system's root; tests have their own. */
  readonly root?: string;
}

/** In order of trust; the first that holds something wins. DMI serials are for root only (mode 0400). */
const SERIAL_FILES: readonly string[] = [
  'proc/device-tree/serial-number',
  'sys/firmware/devicetree/base/serial-number',
  'sys/class/dmi/id/product_serial',
  'sys/class/dmi/id/board_serial',
  'sys/class/dmi/id/product_uuid',
];
const DEFAULT_RUN_FOLDER = '/run/turnstone';

/** Serial numbers of boards that were never given one. */
const NO_SERIAL =
  /^(0+|1+|f+|none|null|n\/?a|unknown|default( string)?|not (specified|applicable|available)|to be filled.*|(system|chassis|base ?board) serial( number)?|serial( number)?|0?123456789.*|empty|oem|invalid|x+|\.+|-+)$/i;
const NO_UUID = /^(0{8}-0{4}-0{4}-0{4}-0{12}|f{8}-f{4}-f{4}-f{4}-f{12}|03000200-0400-0500-0006-000700080009)$/i;
const MAX_SERIAL_LENGTH = 64;
/** Names this program to systemd's derivation; `systemd-id128 machine-id --app-specific=` with it prints the same id. */
const APPLICATION_ID = '5d1f0a3c4b9e4f6f9c2a7e8b60d4c1aa';
const NO_MAC = /^(00:){5}00$/;
/** /sys/class/net/<name>/type of Ethernet and Wi-Fi, ARPHRD_ETHER. */
const ETHERNET = '1';
/** /sys/class/net/<name>/addr_assign_type of an address that the hardware brought along. */
const PERMANENT = '0';
/** How the rank of an interface begins that is hardware, has an address of its own, and is not on USB. */
const SOLDERED = '000';
/** No board that this runs on has more; a record of the board must not grow. */
const MAX_MACS = 8;

/** Reads the board's identity; what cannot be found is left out. */
export async function readIdentity(sources: IdentitySources = {}): Promise<BoardIdentity> {
  const root = sources.root ?? '/';
  const [serial, [mac, ...otherMacs], machineId] = await Promise.all([
    serialOf(root, join(sources.runFolder ?? DEFAULT_RUN_FOLDER, 'identity')),
    macsOf(root),
    machineIdOf(root),
  ]);
  return {
    serial,
    mac,
    otherMacs: otherMacs.length === 0 ? undefined : otherMacs,
    machineId,
    hostname: (await read(join(root, 'etc/hostname'))) ?? hostname(),
  };
}

/**
 * True when two readings are of different boards: by serial number, or by MAC address where one of them has no serial. Machine id and host
 * name travel with the card and say nothing about the board.
 */
export function isOtherBoard(one: Partial<BoardIdentity>, other: Partial<BoardIdentity>): boolean {
  if (one.serial !== undefined && other.serial !== undefined) return one.serial !== other.serial;
  const [these, those] = [allMacs(one), allMacs(other)];
  return these.length > 0 && those.length > 0 && !these.some((mac) => those.includes(mac));
}

/** Returns the kept identity with the marks that were learned since; the same one when there are none. */
export function withNewMarks(kept: Partial<BoardIdentity>, board: BoardIdentity): Partial<BoardIdentity> {
  const macs = [...new Set([...allMacs(kept), ...allMacs(board)])].slice(0, MAX_MACS);
  if (macs.length === allMacs(kept).length && (kept.serial !== undefined || board.serial === undefined)) return kept;
  const [mac, ...otherMacs] = macs;
  return {
    serial: kept.serial ?? board.serial,
    machineId: kept.machineId ?? board.machineId,
    hostname: kept.hostname ?? board.hostname,
    mac,
    otherMacs: otherMacs.length === 0 ? undefined : otherMacs,
  };
}

/** The one it is known by first. */
export function allMacs({ mac, otherMacs = [] }: Partial<BoardIdentity>): readonly string[] {
  return mac === undefined ? [] : [mac, ...otherMacs];
}

async function serialOf(root: string, leftByRoot: string): Promise<string | undefined> {
  for (const file of SERIAL_FILES) {
    const serial = realSerial(await read(join(root, file))) ?? realSerial(await read(join(leftByRoot, basename(file))));
    if (serial !== undefined) return serial;
  }
  return undefined;
}

function realSerial(text: string | undefined): string | undefined {
  const serial = text?.replace(/[^\x21-\x7e]+/g, '-').replace(/^-+|-+$/g, '');
  if (serial === undefined || serial === '' || serial.length > MAX_SERIAL_LENGTH) return undefined;
  return NO_SERIAL.test(serial.replace(/-/g, ' ')) || NO_SERIAL.test(serial) || NO_UUID.test(serial)
    ? undefined
    : serial;
}

/** The one that the board is known by, and after it the others that cannot be moved to another board. */
async function macsOf(root: string): Promise<readonly string[]> {
  const folder = join(root, 'sys/class/net');
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    names.map(async (name) => {
      const at = join(folder, name);
      const [address, type, assigned] = await Promise.all(
        ['address', 'type', 'addr_assign_type'].map((file) => read(join(at, file))),
      );
      const isReal = type === ETHERNET && address !== undefined && !NO_MAC.test(address);
      return isReal ? [{ address, rank: await rankOf(at, name, assigned) }] : [];
    }),
  );
  const [first, ...others] = found.flat().sort((a, b) => (a.rank < b.rank ? -1 : 1));
  if (first === undefined) return [];
  const soldered = others.filter(({ rank }) => rank.startsWith(SOLDERED));
  const macs = [first, ...soldered].map(({ address }) => address.toLowerCase().replaceAll(':', ''));
  return [...new Set(macs)].slice(0, MAX_MACS);
}

/** Soldered before plugged (USB), hardware before virtual, wired before wireless, then by name: the same choice at every boot. */
async function rankOf(at: string, name: string, assigned: string | undefined): Promise<string> {
  const entries = await readdir(at).catch((): string[] => []);
  const device = entries.includes('device') ? ((await read(join(at, 'device/uevent'))) ?? '') : undefined;
  const marks = [
    device === undefined,
    assigned !== PERMANENT,
    /DEVTYPE=usb/.test(device ?? ''),
    entries.includes('wireless'),
  ];
  return `${marks.map(Number).join('')} ${name}`;
}

async function machineIdOf(root: string): Promise<string | undefined> {
  const id = await read(join(root, 'etc/machine-id'));
  if (id === undefined || !/^[0-9a-f]{32}$/.test(id)) return undefined;
  // machine-id(5): the id itself is to be kept from the network; each program derives its own.
  const hash = createHmac('sha256', Buffer.from(id, 'hex'))
    .update(Buffer.from(APPLICATION_ID, 'hex'))
    .digest()
    .subarray(0, 16);
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x40;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  return hash.toString('hex');
}

/** Trimmed text of a small file; undefined when it is missing, empty or not for us. Device tree strings end with a zero byte. */
async function read(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const trimmed = text.replaceAll('\0', '').trim();
  return trimmed === '' ? undefined : trimmed;
}

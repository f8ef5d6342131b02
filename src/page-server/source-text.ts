/** Tells in words where a sensor or an output is on this machine, by the options that its kind has. */

type Fields = Readonly<Record<string, unknown>>;

/** Returns the bus, line, port, host or program; undefined where a kind has none. User names, passwords, paths and queries of addresses are left out. */
export function sourceText(config: object): string | undefined {
  const fields = config as Fields;
  const { bus, address, line, unitId, id, url, program, file, chip, channel } = fields;
  const told = [
    typeof bus === 'number' && typeof address === 'number' && `I2C bus ${bus}, address ${hex(address)}`,
    line !== undefined && lineText(line),
    portText(isFields(fields.connection) ? fields.connection : fields),
    typeof unitId === 'number' && `unit ${unitId}`,
    typeof fields.table === 'string' && `${fields.table} register ${addressText(fields)}`,
    typeof id === 'string' && id,
    typeof url === 'string' && URL.parse(url)?.host,
    typeof program === 'string' && program,
    typeof file === 'string' && file,
    channel !== undefined && `PWM ${String(chip)}, channel ${String(channel)}`,
  ];
  return told.filter((part) => typeof part === 'string' && part !== '').join(', ') || undefined;
}

/** Returns the register of one of a sensor's keys; undefined where it has none. */
export function registerText(config: object, key: string): string | undefined {
  const { registers } = config as Fields;
  const register = isFields(registers) && Object.hasOwn(registers, key) ? registers[key] : undefined;
  if (!isFields(register)) return undefined;
  const { table, address, type } = register;
  return ['register', address, table, type].filter((part) => part !== undefined).join(' ');
}

/** The one address, or those of a row. */
function addressText({ address, registers }: Fields): string {
  if (!Array.isArray(registers)) return String(address);
  return registers.map((register: unknown) => (isFields(register) ? String(register.address) : '')).join(', ');
}

function portText({ port, host, baudRate }: Fields): string | undefined {
  if (typeof host === 'string') return typeof port === 'number' ? `${host}:${port}` : host;
  if (typeof port !== 'string') return undefined;
  return typeof baudRate === 'number' ? `${port}, ${baudRate} baud` : port;
}

function lineText(line: unknown): string {
  return isFields(line) ? `line ${String(line.offset)} of ${String(line.chip)}` : String(line);
}

function hex(address: number): string {
  return `0x${address.toString(16).padStart(2, '0')}`;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

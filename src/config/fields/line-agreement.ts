/** Settings that all users of one line share: check-config refuses two users who differ, and so does the line itself. */
import type { HostConnection, ModbusConnection } from '../../hardware/modbus-port.ts';
import type { SerialSettings } from '../../hardware/serial-port.ts';
import { formatDuration } from './quantity.ts';

/** The line of a connection, the same one in each spelling of its host. */
export function modbusLine(connection: ModbusConnection): string {
  return isHost(connection) ? `${connection.host.toLowerCase()}:${connection.port}` : connection.port;
}

/** Everything that two users of one connection have to agree on. */
export function modbusSettings(connection: ModbusConnection): readonly string[] {
  const { transport, connectDelayMs = 0, betweenRequestsMs = 0, lenient = false, echo = false } = connection;
  const waits = [
    `connectDelay ${formatDuration(connectDelayMs)}`,
    `betweenRequests ${formatDuration(betweenRequestsMs)}`,
  ];
  return [
    `transport ${transport}`,
    ...(isHost(connection) ? [] : serialSettings(connection)),
    ...waits,
    `lenient ${lenient}`,
    `echo ${echo}`,
  ];
}

/** How a serial line carries its bytes. */
export function serialSettings({
  baudRate,
  dataBits = 8,
  parity = 'none',
  stopBits = 1,
  rs485,
}: SerialSettings): readonly string[] {
  const turning = rs485 && Object.entries(rs485).map(([option, value]) => `${option} ${value}`);
  return [
    `baudRate ${baudRate}`,
    `dataBits ${dataBits}`,
    `parity ${parity}`,
    `stopBits ${stopBits}`,
    turning === undefined ? 'no rs485' : `rs485 with ${turning.join(' and ')}`,
  ];
}

export function isHost(connection: ModbusConnection): connection is HostConnection {
  return 'host' in connection;
}

/** Words for codes without a message beside them in the sources, as it is made elsewhere, and for those with too many of them. */
export const ERROR_WORDS: Readonly<Record<string, string>> = {
  'actuators/half-written':
    'The command writes several registers, and some of them alone were written. The message says which, and why.',
  'actuators/min-off': 'The output is to stay off for its `minOff`. The message says how long that takes.',
  'actuators/min-on': 'The output is to stay on for its `minOn`. The message says how long that takes.',
  'actuators/no-answer': 'The other end of the line does not answer as it is to.',
  'actuators/no-state':
    'The program or the device of the output has not told its state since the start. The message says why, where that is known.',
  'actuators/no-broker': 'The MQTT broker that the output names is not in the configuration that is in force.',
  'actuators/program-failed': 'The program of the output did not end well. The message has its name and what it said.',
  'agent/bad-request': 'A request to the running agent lacks something, or has too much of it. The message says what.',
  'agent/unreadable-file': 'A certificate or key that the configuration names cannot be read now.',
  'cbor/too-large': 'What came is larger than is taken.',
  'config/invalid': 'The configuration has faults. Each is listed with line and column, and what is expected there.',
  'config/not-now': 'The configuration may be right, but what it names cannot be looked at now.',
  'control-socket/failed': 'The running agent could not do what was asked. Its log has the reason.',
  'control-socket/lost': 'The connection to the running agent ended. It may have been stopped.',
  'control-socket/refused': 'The running agent takes no request like this.',
  'firmware/bad-trusted-key': 'A key by which releases are verified cannot be read.',
  'firmware/handler-failed':
    'The program that installs the package of an attached device did not end well. The message has what it said.',
  'firmware/not-ready': 'Updates cannot be made yet. The message says what is missing.',
  'hardware/board-failed': 'The simulated board failed.',
  'hardware/gpio-failed': 'The kernel refuses the line.',
  'hardware/gpio-no-chip': 'There is no such GPIO chip. The message says which there are.',
  'hardware/gpio-no-line': 'There is no such line. The message says which there are.',
  'hardware/http-no-answer': 'The device does not answer. Check its address and the network.',
  'hardware/i2c-failed':
    'The transfer on the bus failed. Check the wiring, and that no kernel driver holds the address.',
  'hardware/iio-no-channel': 'The channel cannot be buffered. The message says which can.',
  'hardware/iio-no-trigger': 'The kernel has no trigger of this name. The message says which it has.',
  'hardware/kernel-device-failed': 'The kernel’s driver reads nothing from the chip. The message has its reason.',
  'hardware/kernel-device-gone': 'The kernel’s driver has let the chip go, or was bound anew. It is looked for again.',
  'hardware/kernel-device-no-value': 'The kernel’s driver has no value just now. It is read again.',
  'hardware/modbus-bad-answer':
    'What came is no answer to the request. Check speed and parity of the line, and that no two units have one number.',
  'hardware/modbus-busy': 'The unit is busy (exception 6). It is asked again within the deadline.',
  'hardware/modbus-exception':
    'The unit refuses the request: most often it has no such register. The message has its reason.',
  'hardware/modbus-no-answer': 'The unit does not answer. Check wiring, speed, parity and unit number.',
  'hardware/modbus-settings': 'Sensors and outputs on one line are to have the same settings of the connection.',
  'hardware/modbus-working': 'The unit works on the request (exception 5). It is asked again within the deadline.',
  'hardware/mqtt-busy':
    'The connection to the broker is closed just now, or is open with other settings. It is tried again.',
  'hardware/mqtt-no-answer': 'The broker is not there, or hung up. The message says why.',
  'hardware/mqtt-no-file': 'A certificate or key of the broker is not there.',
  'hardware/no-permission':
    'The device file may not be used. The message names the group that the user is to join, or what else is in the way.',
  'hardware/one-wire-failed':
    'The kernel gives no text of the one-wire device. Check the wiring and the pull-up resistor.',
  'hardware/outcome-unknown':
    'Nobody knows whether it moved: a write had no answer and may still arrive, or an MQTT broker took a command, and the device did not say in time that it is as told.',
  'hardware/program-away': 'The program does not run, or does not read its commands. It is started again.',
  'hardware/program-refuses': 'The program answers a command with a fault. The message has its words.',
  'hardware/pwm-failed': 'The kernel refuses the setting of the channel.',
  'hardware/pwm-no-channel': 'There is no such PWM chip or channel. The message says which there are.',
  'hardware/serial-failed': 'The port cannot be opened, read or written. The message has the reason.',
  'hardware/serial-no-port':
    'There is no such port, or no connection to its device server. `turnstone scan serial` lists ports.',
  'hardware/serial-no-rs485':
    'The driver of the port does not turn an RS-485 line round. Take `rs485` out for a converter that does it by itself, or use a UART that can.',
  'host/already-running': 'Another agent uses the state folder.',
  'host/bad-argument': 'The value cannot be put into the arguments of a program.',
  'host/companion-failed': 'A process of the agent ended.',
  'platform/not-found': 'The platform does not know what is asked for, such as a package that was deleted.',
  'platform/unauthorised': 'The platform does not take the access token. Look at the device’s credentials there.',
  'rpc/bad-params': 'The parameters of the command do not fit its method. The message says which.',
  'rpc/deadline-passed': 'The command came too late, or did not end in time. Nothing is done for it afterwards.',
  'rpc/no-proof':
    'The device was told the command, and its answer did not come: it may have done it. The command is not repeated.',
  'rpc/program-failed': 'The program of the command did not end well. The message has what it said.',
  'sensors/bad-line': 'What came is not in the form that is configured.',
  'sensors/bad-reading': 'What came cannot be a value.',
  'sensors/failed': 'The sensor cannot be read. The message has the reason.',
  'sensors/program-away': 'The program of the sensor does not run. The message has how it ended; it is started again.',
  'sensors/module-failed': 'The driver file of the sensor failed. The message has what it said.',
  'sensors/no-broker': 'There is no connection to the MQTT broker. The message says why.',
  'sensors/no-value': 'The device says that it has no value now.',
  'sensors/out-of-range':
    'The value lies outside of what the sensor can measure: a loose wire, a dying chip, or too much for its range.',
  'sensors/refused': 'The device refuses the request.',
  'sensors/silent': 'Nothing came in time. Check the wiring, and that the device is on.',
  'sensors/unavailable': 'The device’s last will says that it is gone. Check its power and its radio.',
};

/** Rooms in the words of a technician. */
export const ROOM_WORDS: Readonly<Record<string, string>> = {
  actuators: 'An output did not move, or its command was refused.',
  agent: 'A request or a setting that the agent does not take.',
  alarms: 'An alarm that somebody wanted to acknowledge.',
  analytics: 'The analytics service, as `turnstone` asks it.',
  board: 'The configuration of the simulated board.',
  cbor: 'Data of the platform or of an attached device that cannot be read.',
  cli: 'The terminal.',
  config: 'The configuration file.',
  'control-socket': 'The way from a command to the running agent.',
  firmware: 'Updates of the agent, and packages for attached devices.',
  'remote-config': 'Configurations from afar, as the root helper takes or refuses them.',
  hardware: 'Buses, lines, ports and what is connected to them.',
  host: 'The machine: files, programs, other agents.',
  json: 'JSON that cannot be read.',
  outbox: 'The queue of what waits for the platform.',
  platform: 'The way to the platform, and its answers.',
  provisioning: 'Access tokens, credentials and identities.',
  rpc: 'Commands of the platform.',
  status: 'The page of the gateway.',
  scan: 'A look for what is connected, asked of the running agent.',
  sensors: 'A sensor that has no reading to give, or one that was refused.',
};

/** What happens after an error, by what its place says. */
export const RECOVERY_WORDS: Readonly<Record<string, string>> = {
  retry: 'The same may be tried again.',
  hold: 'It waits until the cause is gone.',
  drop: 'This one request is given up, and all else goes on.',
  reprovision: 'New credentials are asked for.',
  rollback: 'The release before is taken again.',
  stop: 'The program ends.',
};

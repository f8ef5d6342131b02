/** Meanings of options outside of sensors and actuators, where neither the example nor the sources say them, or say them beside their neighbours. */
export const CONFIG_WORDS: Readonly<Record<string, string>> = {
  version: 'version of the format of this file',
  'platform.url': 'scheme, host and port of the platform; `http://` sends the access token unencrypted',
  'platform.accessToken':
    'access token of this device; without it the agent provisions itself, and needs `provisioning:`',
  'platform.accessTokenCredential': 'systemd credential with the token: a file in `/etc/turnstone/credentials`',
  'platform.caFile': 'authorities that are trusted beside the public ones, also for a firmware file',
  'platform.clientCertificateFile': 'certificate by which the agent shows who it is, with its chain',
  'platform.clientKeyFile': 'private key of that certificate',
  'platform.proxy': 'HTTP proxy, with user and password where it asks for them',
  'platform.codec': '`cbor` where the platform’s transport speaks it',
  'platform.connectTimeout': 'time for a connection, with TLS',
  'platform.requestTimeout': 'how long an answer may take, except that of a poll',
  'provisioning.deviceName':
    'name of the device on the platform; `{serial}`, `{mac}`, `{machineId}` and `{hostname}` are what this board is; of a choice, the first that it has',
  'provisioning.deviceKey': 'provisioning key of the device profile',
  'provisioning.deviceSecret': 'provisioning secret of the device profile',
  'log.level': 'least important line that is logged',
  'hardware.board': '`simulated`: a board process on `boardSocket` instead of this machine',
  'hardware.boardSocket': 'socket of the simulated board',
  'hardware.gpio':
    'way to the GPIO lines; `auto` uses sysfs where it can be written. Lines with bias, debounce or edges always use the character device',
  'lines[].name': 'name of the line, for `on:` in a sensor or an output',
  'lines[].port': 'path under `/dev`, or `tcp://host:port` of a device server',
  'lines[].baudRate': 'bits in a second; default: that of the kind',
  'lines[].dataBits': 'default: that of the kind',
  'lines[].parity': 'default: that of the kind',
  'lines[].stopBits': 'default: that of the kind',
  'devices[].name': 'name of the slot, for `device:` in a sensor or actuator',
  'devices[].deviceName':
    'name of the device on the platform; of a choice such as `{serialNumber|name}`, the first that it has. By default `{gateway} {serialNumber}`, or `{gateway} {name}` without a serial number',
  'devices[].serialNumber.sensor': 'sensor that reads it; default: the only sensor of this device',
  'devices[].serialNumber.key': 'its key as local rules see it: after `prefix` and `rename`, also with `report: false`',
  'devices[].serialNumber.pattern':
    'pattern that the whole value matches; it is read twice alike before a device is made',
  'devices[].provisioning': 'provisioning key of the device; default: the gateway’s',
  'devices[].provisioning.key': 'provisioning key of its device profile',
  'devices[].provisioning.secret': 'provisioning secret of its device profile',
  'devices[].accessToken': 'access token of the device, instead of `provisioning` and `serialNumber`',
  'devices[].firmware.handlers': 'titles of `firmware.handlers`',
  'rules[].enabled': '`false`: the rule says nothing',
  'rules[].when':
    'condition: one of a comparison, `time`, `weekdays`, `dates`, `all`, `any` and `not`, in at most 4 levels and 16 conditions; without it the rule applies always',
  'rules[].when.sensor': 'sensor whose value is compared',
  'rules[].when.key': 'key of the value, as the platform sees it',
  'rules[].when.above': 'holds above this value; exactly one of `above`, `below` and `equal`',
  'rules[].when.below': 'holds below this value',
  'rules[].when.equal': 'holds at this value',
  'rules[].when.time.from': 'beginning, local time',
  'rules[].when.time.to': 'end; a smaller one is that of the next day',
  'rules[].when.weekdays': 'days of the week, local time',
  'rules[].when.dates.from': 'first day, each year',
  'rules[].when.dates.to': 'last day',
  'rules[].when.all': 'conditions that all have to hold',
  'rules[].when.any': 'conditions of which one has to hold',
  'rules[].when.not': 'condition that must not hold',
  'rules[].set.actuator': 'actuator that is set; with `curve` one whose values are numbers',
  'rules[].set.value': 'value that is set',
  'rules[].set.curve': 'value by that of a sensor, instead of `value`',
  'rules[].set.curve.sensor': 'sensor whose value is looked up',
  'rules[].set.curve.key': 'key of the value',
  'rules[].set.curve.points': 'pairs of the sensor’s value and the actuator’s; linear between them, held outside',
  'outbox.commitEntries': 'or after this many',
  'outbox.maxBytes': 'room that the outbox may take on the disk',
  'outbox.whenFull': '`thin`: the oldest is thinned before it is dropped',
  'outbox.order': 'what is sent first after an outage; `newest-first`: the present, and history behind it',
  'outbox.timeUncertain': 'readings whose time cannot be known are held, or sent marked',
  'upload.maxBatchBytes': 'largest body of an upload',
  'upload.maxBatchEntries': 'most readings of an upload',
  'rpc.methods': 'methods of your own, and limits of the built-in ones, by name',
  'rpc.methods.KEY.description': 'text that `listMethods` tells of it',
  'rpc.methods.KEY.value': 'value that the actuator is set to',
  'rpc.methods.KEY.deadline': 'time that a call may take',
  'rpc.methods.KEY.mostPerMinute': 'most calls within a minute',
  'firmware.requireSignature': '`false` takes an update without a signature',
  'firmware.chunk': 'part of a file that a cut costs at most; a request asks for up to eight, of 8 MB together',
  'firmware.maxSize': 'a larger file is refused',
  'firmware.rateLimit': 'speed of a download',
  'firmware.hours.from': 'beginning, local time',
  'firmware.hours.to': 'end; a smaller one is that of the next day',
  'status.page': '`lan`: read-only for the local network, behind a PIN, over TLS alone',
  'status.pin': 'PIN of the page; in quotes, as it is text',
  'analytics.user': 'user of the analytics service',
  'analytics.requestTimeout': 'time for a report',
  'rules[].name': 'name by which logs and alarms call the rule',
  'rules[].when.time':
    'hours of the day, local time, over midnight too; a clock that is not trusted counts as a lost sensor',
  'rules[].when.dates': 'days of each year, both included',
  'rules[].set': 'what the rule sets',
  'rules[].otherwise':
    'value while the condition does not hold, and no rule before it says otherwise; without it the actuator stays as the rule left it',
  'rules[].protect':
    '`true`: the rule comes before operators, whose commands against it are refused; needs `sensorLost`',
  'rules[].sensorLost':
    'value while the sensor is lost: three values that were due did not come; without it the rule says nothing then',
  'rules[].lostAfter':
    'time without a value after which the sensor is lost, instead of three values. A sensor that reports by event needs it: otherwise it is lost only when it fails',
  'outbox.maxAge':
    'age at which a reading is given up, in time that the gateway ran since; time switched off does not count, as no clock can vouch for it',
  'outbox.minFree':
    'room of the disk that stays free: while less is, what was delivered goes first, and what is new takes the place of the oldest',
  'outbox.retain': 'what is kept after it was acknowledged, for plots, audit and sending again',
  'outbox.retain.for': 'time for which it is kept',
  'outbox.retain.bytes': 'room for it',
  'outbox.memoryEntries':
    'readings held in memory while the disk cannot be written, up to 1 kB each, with 4 MB of content in all',
  'attributes.liveSettings': '`true`: shared attributes may change options that say so',
  'rpc.enabled': '`false`: no command of the platform is taken',
  'rpc.methods.KEY.enabled': '`false`: the method is not there',
  'rpc.methods.KEY.command.idempotent': '`true`: running it twice does no harm',
  'rpc.methods.KEY.command.json': '`true`: its output is JSON, and alone the reply',
  'rpc.lockout':
    'what locks the machine; then nothing is switched on from afar or by a rule, off passes, and an update that was offered waits, downloaded and verified',
  'rpc.lockout.file': 'the machine is locked while this file exists; in a folder that a power cut leaves as it is',
  'rpc.lockout.line': 'the machine is locked while this GPIO line is active: a key switch',
  'firmware.enabled': '`false`: no offer is taken',
  'firmware.title': 'title of the offers that are for the agent',
  'firmware.guardFolder': 'folder of root, in which boot guard and root helper say what they did',
  'firmware.trustedKeys': 'folder with the Ed25519 public keys that may sign a release',
  'firmware.allowDowngrade':
    '`true`: an older release is taken; root’s helper asks for its own leave beside it: the file `/etc/turnstone/allow-firmware-downgrade`',
  'firmware.hours': 'hours of the day in which downloads may run, local time; may cross midnight',
  'firmware.downloadDeadline': 'time within these hours after which a download is given up',
  'firmware.confirm.healthyFor': 'time after the first acknowledged upload for which a new release must be healthy',
  'firmware.confirm.deadline':
    'time in which it must become so, counted only while the platform is reachable; then the release before returns',
  'firmware.confirm.unreachableHold':
    'time for which a release that never reached the platform is kept while the rest is healthy, and 25h at most',
  'firmware.handlers': 'programs for offers with other titles, and for software packages',
  'firmware.handlers[].title': 'title of the offers that it installs',
  'firmware.handlers[].package': 'kind of package on the platform',
  'firmware.handlers[].arguments':
    'arguments of the program; `{file}`, `{title}`, `{version}` and `{device}`, the name of the slot, are replaced',
  'firmware.handlers[].timeout': 'time that the program may take',
  'status.port': 'TCP port of the page',
  'status.metrics': '`/metrics`, `/healthz` and `/readyz`; on loopback also while the page is off',
  'status.control':
    'outputs can be set and released on the page, by who knows the PIN; they count as an operator’s on site. The configuration can be changed there where `remoteConfiguration.enabled` is true',
  'status.telemetryPeriod': 'period at which the numbers of `/metrics` go to the platform as telemetry',
  'analytics.url': 'address of the analytics service',
  'analytics.basePath': 'path of its API; `/apiTrendz` in some of its releases',
  'analytics.password': 'password of that user',
  'analytics.tokenIn': 'where the token is sent',
  'analytics.caFile': 'authorities that are trusted beside the public ones',
  'rules[].when.for':
    'how long it must hold; three values in a row that do not come begin it anew. Of several conditions it counts for all together',
  'shutdown.drain': 'time that a stop may take to make readings durable and send them',
  'devices[].label': 'name of it for people',
  'devices[].serialNumber':
    'serial number that is read from the thing itself: a swapped one is another device, and a moved one the same',
  'devices[].firmware': 'packages of its own; the gateway’s offers do not reach these',
  'provisioning.onUnauthorised': 'what is done when the platform no longer knows the token: `hold` waits for a person',
  'provisioning.onOtherBoard':
    'what is done when the card was copied or moved to another board: an alert, and `continue`, `hold` or `reprovision`',
  'time.trust':
    'whose word makes the clock right: `system` NTP alone, `platform` its date too, `always` the clock as it is',
  'platform.pollTimeout':
    'the longest poll; without it the agent tries 25s, 60s and 5m, and stays below what the platform turns out to hold',
  'platform.reconcilePeriod': 'shared attributes are read again at least this often',
  'platform.resendWindow':
    'what the platform acknowledged in this time before its restart is sent once more, as it may be lost; `0s`: never',
  'link.metered':
    'true: polls, history and at last all but alarms are done without, step by step, so that `monthly` suffices',
  'link.monthly': 'bytes that the plan has for a month, both directions, with TLS and TCP/IP',
  'link.daily':
    'bytes of a UTC day, counted as those of a month, `metered` or not; beyond them history waits, alarms and new readings never do',
  'link.resetDay': 'day on which the month of the plan begins, at midnight UTC; 28 for the 29th to the 31st',
  'link.wake': 'how often commands and shared attributes are fetched where the link is too dear to wait for them',
  'link.firmware': 'downloads that the month does not suffice for: `wait` for the next one, or come `now`',
  stateFolder:
    'outbox, credentials, journal: everything that must survive; updates over the platform and remote reboots work only with the default',
  rules:
    'a reload takes them up. A rule whose actuator changes at the same time waits for the restart; until then the old rule goes on',
};

/** Words for the other places of a secret. */
export function placeWords(path: string, all: ReadonlySet<string>): string | undefined {
  const [, secret = '', place] = /^(.*?)(File|Credential)$/.exec(path) ?? [];
  if (!all.has(secret)) return undefined;
  const name = secret.replace(/^.*\./, '');
  return place === 'File'
    ? `file with it, instead of \`${name}\``
    : `systemd credential with it, instead of \`${name}\``;
}

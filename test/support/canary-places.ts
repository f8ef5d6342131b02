/** One configuration with a secret of its own in each place where a person may write one, and the member that each belongs to. */

export interface CanaryPlace {
  readonly place: string;
  /** Path of a patch that touches it; undefined where no member holds it. */
  readonly path?: string;
  readonly canary: string;
}

/** Paths of members whose value holds a secret, and how it is written; in the order of the file below. */
const MEMBERS: readonly string[] = [
  'platform.accessToken',
  'platform.proxy',
  'provisioning.deviceKey',
  'provisioning.deviceSecret',
  'provisioning.devices.key',
  'provisioning.devices.secret',
  'status.pin',
  'analytics.password',
  'devices.boiler.accessToken',
  'devices.cellar.provisioning.key',
  'devices.cellar.provisioning.secret',
  'sensors.meter.url',
  'sensors.meter.password',
  'sensors.meter.body',
  'sensors.meter.headers.Authorization',
  'sensors.meter.headers.Cookie',
  'sensors.meter.headers["X-Api-Key"]',
  'sensors.meter.headers["Proxy-Authorization"]',
  'sensors.meter.headers["X-Odd"]',
  'sensors.charger.url',
  'sensors.charger.headers.Authorization',
  'sensors.gate.arguments[0]',
  'sensors.gate.arguments[1]',
  'sensors.gate.arguments[2]',
  'sensors.gate.arguments[3]',
  'sensors.gate.environment.API_TOKEN',
  'sensors.gate.environment.MQTT_PASSWORD',
  'sensors.gate.environment.ODD',
  'sensors.own.options.password',
  'sensors.own.options.deep.list[0]',
  'sensors.own.options.odd',
  'sensors.scale.request',
  'actuators.siren.arguments[0]',
  'actuators.siren.arguments[1]',
  'actuators.siren.readBack.arguments[0]',
  'actuators.display.template',
  'rpc.methods.unlock.command.arguments[0]',
  'rpc.methods.unlock.command.arguments[1]',
  'firmware.handlers[0].arguments[0]',
  'firmware.handlers[0].arguments[1]',
];
/** Secrets that the file names, and others hold. */
const ELSEWHERE = [
  'variable of sensors.vendor.password',
  'variable within sensors.vendor.headers.Authorization',
  'variable within sensors.vendor.url',
  'file of sensors.stored.password',
  'credential of sensors.sealed.password',
] as const;
/** Text of the file that the reader does not look at. */
const BESIDE = [
  'comment beside platform.accessToken',
  'comment above a section',
  'comment behind a list',
  'comment in a mapping over lines',
  'old value in a comment',
  'comment at the end',
] as const;

/** Long enough, and odd enough, to be taken for nothing else. */
export function canaryOf(number: number): string {
  return number === MEMBERS.indexOf('status.pin') ? '80417365' : `q7Zx${String(number).padStart(3, '0')}vKm94Tw`;
}

const members = MEMBERS.map((path, number): CanaryPlace => ({ place: path, path, canary: canaryOf(number) }));
const at = (offset: number, names: readonly string[]): readonly CanaryPlace[] =>
  names.map((place, number) => ({ place, canary: canaryOf(offset + number) }));
const elsewhere = at(MEMBERS.length, ELSEWHERE);
const beside = at(MEMBERS.length + ELSEWHERE.length, BESIDE);

export const CANARY_PLACES: readonly CanaryPlace[] = [...members, ...elsewhere, ...beside];
/** The first of those that changes bring themselves. */
export const FIRST_OF_CHANGES = CANARY_PLACES.length;

export function canaryAt(place: string): string {
  const found = CANARY_PLACES.find((one) => one.place === place);
  if (found === undefined) throw new Error(`nothing is at ${place}`);
  return found.canary;
}

export const CANARY_ENVIRONMENT = {
  VENDOR_PASSWORD: canaryAt('variable of sensors.vendor.password'),
  VENDOR_TOKEN: canaryAt('variable within sensors.vendor.headers.Authorization'),
  VENDOR_KEY: canaryAt('variable within sensors.vendor.url'),
} as const;

/** The text; `folder` has `password`, `driver.mjs`, and the credential is called `sealed`. */
export function canaryConfiguration(folder: string, platformUrl = 'http://127.0.0.1:9'): string {
  const of = canaryAt;
  return `version: 1
label: House of canaries
remoteConfiguration: { enabled: true, trial: 1m, allow: [platform, programs, outputs] }
stateFolder: ${folder}/state
runFolder: ${folder}/run
platform:
  url: ${platformUrl}
  accessToken: ${of('platform.accessToken')} # was ${of('comment beside platform.accessToken')}
  proxy: http://user:${of('platform.proxy')}@proxy.example.org:3128
# The password of the house is ${of('comment above a section')}
provisioning:
  deviceKey: ${of('provisioning.deviceKey')}
  deviceSecret: "${of('provisioning.deviceSecret')}"
  devices: { key: ${of('provisioning.devices.key')}, secret: '${of('provisioning.devices.secret')}' }
status: { page: loopback, port: 0, pin: "${of('status.pin')}" }
analytics: { url: "https://analytics.example.org", user: me, password: ${of('analytics.password')} }
devices:
  - { name: boiler, accessToken: ${of('devices.boiler.accessToken')} }
  - name: cellar
    provisioning:
      key: ${of('devices.cellar.provisioning.key')}
      secret: ${of('devices.cellar.provisioning.secret')}
sensors:
  - { name: machine, kind: host, period: 10s }
  - name: meter
    kind: http
    url: http://127.0.0.1:9/status?token=${of('sensors.meter.url')}&unit=1
    method: POST
    body: '{"password":"${of('sensors.meter.body')}"}'
    user: reader
    password: ${of('sensors.meter.password')}
    headers:
      Authorization: Bearer ${of('sensors.meter.headers.Authorization')}
      Cookie: session=${of('sensors.meter.headers.Cookie')}
      X-Api-Key: ${of('sensors.meter.headers["X-Api-Key"]')}
      # X-Api-Key: ${of('comment in a mapping over lines')}
      Proxy-Authorization: Basic ${of('sensors.meter.headers["Proxy-Authorization"]')}
      X-Odd: ${of('sensors.meter.headers["X-Odd"]')}
    format: json
    paths: { power: total }
  - name: charger
    kind: http
    url: "http://127.0.0.1:9/${of('sensors.charger.url')}/status?x=${of('sensors.charger.url')}"
    headers: { Authorization: "${of('sensors.charger.headers.Authorization')}" }
    paths: { energy: total }
  - name: vendor
    kind: http
    url: http://127.0.0.1:9/?key=\${VENDOR_KEY}
    user: reader
    password: \${VENDOR_PASSWORD}
    headers: { Authorization: "Bearer \${VENDOR_TOKEN}" }
    paths: { flow: total }
  - { name: stored, kind: http, url: "http://127.0.0.1:9/", user: a, passwordFile: ${folder}/password, paths: { level: total } }
  - { name: sealed, kind: http, url: "http://127.0.0.1:9/", user: a, passwordCredential: sealed, paths: { depth: total } }
  - name: gate
    kind: command
    program: /bin/true
    arguments: ["--token=${of('sensors.gate.arguments[0]')}", "${of('sensors.gate.arguments[1]')}", "-u", "me:${of('sensors.gate.arguments[3]')}", "https://me:${of('sensors.gate.arguments[2]')}@example.org/x"]
    environment:
      API_TOKEN: ${of('sensors.gate.environment.API_TOKEN')}
      MQTT_PASSWORD: "${of('sensors.gate.environment.MQTT_PASSWORD')}"
      ODD: ${of('sensors.gate.environment.ODD')}
    format: number
    key: gateOpen
    # ${of('comment behind a list')}
  - name: own
    kind: module
    file: ${folder}/driver.mjs
    options:
      password: ${of('sensors.own.options.password')}
      deep: { list: ["${of('sensors.own.options.deep.list[0]')}"] }
      odd: ${of('sensors.own.options.odd')}
  - { name: scale, kind: serial-line, port: /dev/ttyUSB0, request: "LOGIN ${of('sensors.scale.request')}\\r\\n", format: number, key: weight }
actuators:
  - name: siren
    kind: command
    program: /bin/true
    arguments: ["--key=${of('actuators.siren.arguments[0]')}", "${of('actuators.siren.arguments[1]')}", "{value}"]
    readBack: { program: /bin/true, arguments: ["${of('actuators.siren.readBack.arguments[0]')}"] }
  - { name: display, kind: serial-write, port: /dev/ttyUSB1, valueType: number, template: "PIN ${of('actuators.display.template')} {value}" }
rpc:
  methods:
    unlock: { command: { program: /bin/true, arguments: ["--code", "${of('rpc.methods.unlock.command.arguments[1]')}", "${of('rpc.methods.unlock.command.arguments[0]')}"] } }
firmware:
  requireSignature: false
  handlers:
    - { title: part, program: /bin/true, arguments: ["${of('firmware.handlers[0].arguments[0]')}", "--password=${of('firmware.handlers[0].arguments[1]')}", "{file}"] }
# accessToken: ${of('old value in a comment')}
# ${of('comment at the end')}
`;
}

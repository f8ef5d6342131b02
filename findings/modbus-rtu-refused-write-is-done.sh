#!/usr/bin/env bash
# modbus-rtu 0.2.1 (npm): a unit refuses a request by an exception, whose function code has its upper bit set (Modbus Application Protocol, 7). Expected: an error with
# the code, 04 for a failure of the unit. Seen: the promise of the write is fulfilled, as that of a write that was done, and a read that was refused
# is an empty list; the check sum alone is looked at.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" modbus-rtu@0.2.1 >/dev/null
cat >"$folder/ask.cjs" <<'JS'
const { EventEmitter } = require('node:events');
const { ModbusMaster } = require('modbus-rtu');

/** Stands for a serial port whose unit gives one answer to all. */
class Port extends EventEmitter {
  constructor(answer) {
    super();
    let sum = 0xffff;
    for (const byte of answer) {
      sum ^= byte;
      for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >> 1) ^ 0xa001 : sum >> 1;
    }
    this.answer = Buffer.from([...answer, sum & 255, sum >> 8]);
    setImmediate(() => this.emit('open'));
  }

  write(_request, done) {
    done(null);
    setImmediate(() => this.emit('data', this.answer));
  }
}

const outcome = (promise) => promise.then((value) => (Array.isArray(value) ? `read ${JSON.stringify(value)}` : 'done'), () => 'refused');
const write = (answer) => outcome(new ModbusMaster(new Port(answer)).writeSingleRegister(7, 0, 1));
const read = (answer) => outcome(new ModbusMaster(new Port(answer)).readHoldingRegisters(7, 0, 1));
(async () => {
  const seen = [await write([7, 0x06, 0, 0, 0, 1]), await write([7, 0x86, 4]), await read([7, 0x03, 2, 0, 5]), await read([7, 0x83, 2])];
  console.log('modbus-rtu 0.2.1: write, write refused, read, read refused:', seen);
  if (seen.join() !== 'done,done,read [5],read []') throw new Error('it behaves otherwise now');
  process.exit(0);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
JS
node --no-deprecation "$folder/ask.cjs"

#!/usr/bin/env bash
# iolink-utils 0.1.0 (PyPI) makes a decoder for the process data of an IO-Link device from its description (IODD). A Float32T is a float of IEEE 754, most significant byte
# first. Expected: 21.5 for 41 AC 00 00; the reader of the description knows the type as float. Seen: 1101791232, as every number of 17 to 32 bits
# becomes an unsigned integer; the switch beside it is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet iolink-utils==0.1.0
cat >"$folder/Maker-Probe-20260115-IODD1.1.xml" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<IODevice xmlns="http://www.io-link.com/IODD/2010/10" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <ProfileBody>
    <DeviceFunction>
      <ProcessDataCollection>
        <ProcessData id="P">
          <ProcessDataIn id="PI" bitLength="40">
            <Datatype xsi:type="RecordT" bitLength="40">
              <RecordItem subindex="1" bitOffset="8"><SimpleDatatype xsi:type="Float32T"/><Name textId="temperature"/></RecordItem>
              <RecordItem subindex="2" bitOffset="0"><SimpleDatatype xsi:type="BooleanT"/><Name textId="alarm"/></RecordItem>
            </Datatype>
            <Name textId="in"/>
          </ProcessDataIn>
        </ProcessData>
      </ProcessDataCollection>
    </DeviceFunction>
  </ProfileBody>
</IODevice>
XML
cd "$folder"
venv/bin/python - <<'PYTHON'
from iolink_utils.iodd.iodd import Iodd
from iolink_utils.processDataDecoder.processDataDecoder import createDecoderClass_PDIn

definition = Iodd('Maker-Probe-20260115-IODD1.1.xml').processDataDefinition
kind = next(one['data']['type'] for one in definition[None]['pdIn']['dataFormat'] if one['name'][0] == 'temperature')
read = createDecoderClass_PDIn(definition).from_buffer_copy(bytes.fromhex('41ac000001'))
print('iolink-utils 0.1.0: 21.5 as', kind.__name__, 'is', read.temperature, 'with alarm', read.alarm)
assert (kind, read.temperature, read.alarm) == (float, 1101791232, 1), 'it behaves otherwise now'
PYTHON

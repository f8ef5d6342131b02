#!/usr/bin/env bash
# Two that meet: jackson-dataformat-cbor 2.17.2 (Maven Central) writes a text that is longer than its buffer as a string of indefinite length, in pieces
# (RFC 8949, 3.2.3), though it knows the length; cbor-x 1.6.8 (npm) reads no such string. Expected: the same form for short and long texts, and a
# reader that takes both. Seen: a text of 100 letters arrives, one of 5,000 is "Indefinite length not supported for byte or text strings".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >pom.xml <<'XML'
<project><modelVersion>4.0.0</modelVersion><groupId>none</groupId><artifactId>none</artifactId><version>1</version>
<dependencies><dependency><groupId>com.fasterxml.jackson.dataformat</groupId><artifactId>jackson-dataformat-cbor</artifactId>
<version>2.17.2</version></dependency></dependencies></project>
XML
mvn --batch-mode --quiet dependency:copy-dependencies -DoutputDirectory=jars
cat >Write.java <<'JAVA'
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.cbor.CBORFactory;
import java.util.HexFormat;
import java.util.Map;

class Write {
  public static void main(String[] arguments) throws Exception {
    ObjectMapper mapper = new ObjectMapper(new CBORFactory());
    for (String length : arguments)
      System.out.println(HexFormat.of().formatHex(mapper.writeValueAsBytes(Map.of("text", "a".repeat(Integer.parseInt(length))))));
  }
}
JAVA
java -cp 'jars/*' Write.java 100 5000 >written
npm install --silent --no-audit --no-fund --no-save --prefix "$folder/node" cbor-x@1.6.8 >/dev/null
cat >node/read.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { Decoder } from 'cbor-x';

const decoder = new Decoder({ useRecords: false, mapsAsObjects: true });
const seen = readFileSync('written', 'utf8').trim().split('\n').map((hex) => {
  try {
    return `read: ${decoder.decode(Buffer.from(hex, 'hex')).text.length} letters`;
  } catch (error) {
    return error.message;
  }
});
console.log('jackson-dataformat-cbor 2.17.2 and cbor-x 1.6.8:', seen);
const before = ['read: 100 letters', 'Indefinite length not supported for byte or text strings'];
if (JSON.stringify(seen) !== JSON.stringify(before)) throw new Error('they behave otherwise now');
JS
node node/read.mjs

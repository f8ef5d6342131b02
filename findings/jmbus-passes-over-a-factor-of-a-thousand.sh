#!/usr/bin/env bash
# jmbus 3.3.0 (Maven Central): a meter may put a factor behind the unit (EN 13757-3, VIFE 7Dh: times 1000; 70h to 77h: ten to the power of -6 to 1), as large ones do.
# Expected: 4660 m³ for 4660 litres times 1000. Seen: 4.66 m³, as without the factor, in the value, the scaled value and the text; for VIFE 70h, a
# millionth, also 4.66 m³.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >pom.xml <<'XML'
<project><modelVersion>4.0.0</modelVersion><groupId>none</groupId><artifactId>none</artifactId><version>1</version>
<dependencies><dependency><groupId>org.openmuc</groupId><artifactId>jmbus</artifactId><version>3.3.0</version></dependency></dependencies></project>
XML
mvn --batch-mode --quiet dependency:copy-dependencies -DoutputDirectory=jars
cat >Read.java <<'JAVA'
import java.util.HexFormat;
import java.util.Map;
import org.openmuc.jmbus.VariableDataStructure;

class Read {
  public static void main(String[] arguments) throws Exception {
    // A long header (meter 12345678, water) and three volumes of 4660 litres: plain, times 1000, and times a millionth.
    byte[] answer = HexFormat.of().parseHex("72785634122440010755000000" + "02133412" + "02937d3412" + "0293703412");
    VariableDataStructure structure = new VariableDataStructure(answer, 0, answer.length, null, Map.of());
    structure.decode();
    StringBuilder seen = new StringBuilder();
    for (var record : structure.getDataRecords()) seen.append(record.getScaledDataValue()).append(' ').append(record.getUnit()).append("; ");
    System.out.println("jmbus 3.3.0: " + seen);
    if (!seen.toString().equals("4.66 CUBIC_METRE; 4.66 CUBIC_METRE; 4.66 CUBIC_METRE; ")) throw new IllegalStateException("it behaves otherwise now");
  }
}
JAVA
java -cp 'jars/*' Read.java

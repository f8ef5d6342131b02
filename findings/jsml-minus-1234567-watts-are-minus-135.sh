#!/usr/bin/env bash
# jsml 1.1.2 (Maven): an integer of SML may leave out leading bytes that say no more than the sign, and the reader fills them up, so five bytes may stand
# for an Integer64. Expected: -1234567 for FF FF ED 29 79. Seen: -135, as the bytes of ones for the sign are laid over those of the number; in four bytes
# and in eight it is right, and so is a positive number in five.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >pom.xml <<'XML'
<project><modelVersion>4.0.0</modelVersion><groupId>none</groupId><artifactId>none</artifactId><version>1</version>
<dependencies><dependency><groupId>org.openmuc</groupId><artifactId>jsml</artifactId><version>1.1.2</version></dependency></dependencies></project>
XML
mvn --batch-mode --quiet dependency:copy-dependencies -DoutputDirectory=jars
cat >Read.java <<'JAVA'
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.util.HexFormat;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.openmuc.jsml.structures.SmlValue;

class Read {
  static String read(String hex) {
    try {
      SmlValue value = new SmlValue();
      value.decode(new DataInputStream(new ByteArrayInputStream(HexFormat.of().parseHex(hex))));
      return value.toString();
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  public static void main(String[] arguments) {
    String seen = Stream.of("55ffed2979", "56ffffed2979", "59ffffffffffed2979", "560012d687ff")
        .map(Read::read).collect(Collectors.joining(" "));
    System.out.println("jsml 1.1.2: -1234567 in four bytes, in five, in eight, and 316049407 in five: " + seen);
    if (!seen.equals("-1234567 -135 -1234567 316049407")) throw new IllegalStateException("it behaves otherwise now");
  }
}
JAVA
java -cp 'jars/*' Read.java

#!/usr/bin/env bash
# telegraf 1.37.2 (Go), parser "binary": a field may be shorter than its type ("bits"), as counters of 24 bits and temperatures of 12. Expected: 1 for 01 00 00 in little
# endian, and -5 for FFBh as an int16. Seen: what lacks is filled with zeros at the front in both byte orders, so that a little-endian counter is 256 times too
# large, and the sign of a short number is lost: -5 is 4091. The big-endian counter is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/influxdata/telegraf/plugins/parsers/binary"
)

func read(order string, kind string, bits uint64, message ...byte) interface{} {
	entry := binary.Entry{Name: "value", Type: kind, Bits: bits}
	parser := &binary.Parser{Endianness: order, Configs: []binary.Config{{MetricName: "meter", Entries: []binary.Entry{entry}}}}
	if err := parser.Init(); err != nil {
		panic(err)
	}
	metrics, err := parser.Parse(message)
	if err != nil {
		panic(err)
	}
	value, _ := metrics[0].GetField("value")
	return value
}

func main() {
	seen := fmt.Sprint(read("be", "uint32", 24, 0, 0, 1), read("le", "uint32", 24, 1, 0, 0), read("be", "int16", 12, 0xFF, 0xB0))
	fmt.Println("telegraf 1.37.2: 1 in 24 bits big endian, little endian, and -5 in 12 bits:", seen)
	if seen != "1 256 4091" {
		panic("it behaves otherwise now")
	}
}
GO
go mod init read 2>/dev/null
go get github.com/influxdata/telegraf@v1.37.2 2>/dev/null
go mod tidy 2>/dev/null
go run .

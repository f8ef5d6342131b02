#!/usr/bin/env bash
# The quick loop: types, style, then the test files of two of the three projects in vitest.config.ts, which need neither root nor lab.
# scripts/test.sh --all adds unused code, the bundle and the third project, `rest`; COVERAGE=on counts what of src the tests reach.
# scripts/test.sh TEST-FILTER… runs the matching ones of all test files, and none of the checks.
# Ends with one line: N passed, N failed, N skipped.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
dev=./scripts/dev.sh
passed=0
failed=0
skipped=0

"$dev" true || exit 1
./scripts/ensure-test-tools.sh
mkdir -p build

check() { # NAME CMD…: one check counts as one test
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    echo "ok: $name"
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
  fi
}

if [ $# -eq 0 ] || [ "$*" = --all ]; then
  # Beside the others: of two cores each has one. Its memory is cheaper than its collections.
  GOGC=400 "$dev" tsc --noEmit --singleThreaded >build/types.log 2>&1 &
  types=$!
  check 'style' "$dev" biome check --error-on-warnings .
  if [ $# -eq 0 ]; then
    set -- --project rooms --project processes
  else
    check 'unused code' "$dev" knip
    check 'bundle' "$dev" npm run --silent build
    set --
  fi
  wait "$types"
  types=$?
  cat build/types.log
  check 'types' test "$types" -eq 0
  if [ "${COVERAGE:-off}" = on ]; then set -- "$@" --coverage; fi
fi

rm -f build/tests.json
"$dev" vitest run --reporter=default --reporter=json --outputFile.json=build/tests.json "$@"
vitest_status=$?
if [ -s build/tests.json ]; then
  read -r p f s < <("$dev" node -p "const r=JSON.parse(fs.readFileSync('build/tests.json'));[r.numPassedTests,r.numFailedTests,r.numPendingTests+r.numTodoTests].join(' ')")
  passed=$((passed + p))
  failed=$((failed + f))
  skipped=$((skipped + s))
  # A file that does not load, or an error outside any test, fails the run without failing a test.
  if [ "$vitest_status" -ne 0 ] && [ "$f" -eq 0 ]; then failed=$((failed + 1)); fi
else
  failed=$((failed + 1))
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]

#!/usr/bin/env bash
# Two that meet: SenML has a list of unit names (RFC 8428, 12.1, and RFC 8798), and Pint 0.25.3 (PyPI) reads units by name. Expected: for a name that Pint lacks, its
# UndefinedUnitError, as for "Cel" and "var". Seen: it makes one up of a prefix or a plural, without an error: 45 %RH of humidity are percents of a
# ronnahenry, pH 7 is 7 picohenries, and 5 VAs, which are volt-ampere seconds, are 5 volt-amperes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet Pint==0.25.3
"$folder/venv/bin/python" - <<'PYTHON'
import pint

registry = pint.UnitRegistry()


def read(text):
    try:
        return str(registry(text))
    except pint.UndefinedUnitError:
        return 'not defined'


seen = {text: read(text) for text in ('7 kWh', '21 Cel', '3 var', '45 %RH', '7 pH', '5 VAs')}
print('Pint 0.25.3:', seen)
assert seen == {
    '7 kWh': '7 kilowatt_hour', '21 Cel': 'not defined', '3 var': 'not defined',
    '45 %RH': '45 percent * ronnahenry', '7 pH': '7 picohenry', '5 VAs': '5 volt_ampere',
}, 'it behaves otherwise now'
PYTHON

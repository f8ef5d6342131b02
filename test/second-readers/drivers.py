"""Writes what the programs of docs/drivers.md from PyPI print over recorded input, for the tests to feed. Run by second-readers.sh."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from evdev import ecodes

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "test/fixtures/drivers"
BIN = pathlib.Path(sys.executable).parent
PAGE = (ROOT / "docs/drivers.md").read_text()
REPLAY = [sys.executable, str(ROOT / "test/second-readers/replay_bluetooth.py"), str(FOLDER / "advertisements.json")]
SNMP_PORT = 21_161


def program_under(heading):
    section = PAGE[PAGE.index(f"## {heading}"):]
    return re.search(r"```python\n(.*?)```", section, re.S).group(1)


def printed(command, count, **options):
    """The first lines that a program prints, which goes on until it is ended."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
        lines = [process.stdout.readline() for _ in range(count)]
        process.kill()
    return "".join(lines)


with tempfile.TemporaryDirectory() as folder:
    def file_of(heading):
        path = pathlib.Path(folder) / "driver.py"
        path.write_text(program_under(heading))
        return str(path)

    with open(FOLDER / "engine.candump") as log:
        text = printed([BIN / "cantools", "decode", "-s", FOLDER / "engine.dbc"], 2, stdin=log)
    (FOLDER / "cantools.txt").write_text(text)
    (FOLDER / "ruuvitag.jsonl").write_text(printed([*REPLAY, file_of("Bluetooth thermometers")], 2))
    keys = ["DC:10:00:00:00:01@aff4d0995b7d1e176c0c33ecb9e70dcd", "DC:10:00:00:00:02@adeccb947395801a4dd45a2eaa44bf17"]
    (FOLDER / "victron.jsonl").write_text(printed([*REPLAY, BIN / "victron-ble", "read", *keys], 2))
    settings = pathlib.Path(folder) / "snmpd.conf"
    settings.write_text("rocommunity public 127.0.0.1\n")
    agent = subprocess.Popen(["/usr/sbin/snmpd", "-f", "-C", "-c", settings, "-Ln", f"udp:127.0.0.1:{SNMP_PORT}"])
    arguments = [f"127.0.0.1:{SNMP_PORT}", "public", "1.3.6.1.2.1.1.3.0", "upTime", "1"]
    (FOLDER / "pysnmp.jsonl").write_text(printed([sys.executable, file_of("SNMP"), *arguments], 2))
    agent.terminate()

codes = [*range(2, 12), *range(16, 26), *range(30, 39), *range(44, 51)]
(FOLDER / "evdev.json").write_text(json.dumps({code: ecodes.KEY[code] for code in codes}, indent=2) + "\n")

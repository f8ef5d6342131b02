"""Writes what iec62056-21 reads in the readouts of test/fixtures/meters/iec62056, for the tests to compare. Run by second-readers.sh."""
import json
import pathlib

from iec62056_21.messages import DataBlock, ReadoutDataMessage

FOLDER = pathlib.Path(__file__).parents[1] / "fixtures/meters/iec62056"


def read(telegram):
    """Address, value and unit of each bracket, behind the identification."""
    block = telegram.split("\r\n", 1)[1]
    if block.startswith("\x02"):
        data = ReadoutDataMessage.from_representation(block).data_block
    else:
        data = DataBlock.from_representation(block.lstrip("\r\n").removesuffix("!\r\n"))
    return [[one.address, one.value, one.unit] for line in data.data_lines for one in line.data_sets]


rows = []
for fixture in map(json.loads, (FOLDER / "telegrams.jsonl").read_text().splitlines()):
    name = f"{fixture['country']} {fixture['maker']} {fixture['meter']}"
    try:
        answer = read(bytes.fromhex(fixture["telegram"]).decode("latin1"))
    except Exception as error:  # what a reader does not read is an answer too
        answer = {"error": type(error).__name__}
    rows.append(json.dumps([name, answer]))
(FOLDER / "second-readers.jsonl").write_text("\n".join(rows) + "\n")

"""Writes what python-pylontech reads in the frames of test/fixtures/meters/pylontech, for the tests to compare. Run by second-readers.sh."""
import json
import pathlib

from pylontech import Pylontech

FOLDER = pathlib.Path(__file__).parents[1] / "fixtures/meters/pylontech"
NAMES = {
    "Voltage": "batteryVoltage",
    "Current": "batteryCurrent",
    "RemainingCapacity": "batteryCapacityRemaining",
    "TotalCapacity": "batteryCapacity",
    "CycleNumber": "batteryCycles",
    "AverageBMSTemperature": "batteryTemperature",
}


class Replay:
    """A port from which one frame is read."""

    def __init__(self, frame):
        self.frame = frame

    def readline(self):
        return self.frame


def values_of(module):
    values = {ours: module[theirs] for theirs, ours in NAMES.items()}
    values.update({f"cellTemperature{at}": one for at, one in enumerate(module.GroupedCellsTemperatures, 1)})
    values.update({f"cellVoltage{at}": one for at, one in enumerate(module.CellVoltages, 1)})
    return values


rows = []
for fixture in map(json.loads, (FOLDER / "frames.jsonl").read_text().splitlines()):
    reader = Pylontech.__new__(Pylontech)  # its own start opens a port
    reader.s = Replay(f"~{fixture['frame']}\r".encode())
    try:
        info = reader.read_frame().info[1:]
        if fixture["stack"]:
            answer = [values_of(one) for one in reader.get_values_fmt.parse(info).Module]
        else:
            answer = [values_of(reader.get_values_single_fmt.parse(info))]
    except Exception as error:  # what a reader does not read is an answer too
        answer = {"error": type(error).__name__}
    rows.append(json.dumps([fixture["name"], answer]))
(FOLDER / "second-readers.jsonl").write_text("\n".join(rows) + "\n")

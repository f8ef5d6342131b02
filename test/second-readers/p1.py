"""Writes what dsmr_parser reads in the P1 telegrams of test/fixtures/meters/p1, plain and encrypted, for the tests to compare. Run by second-readers.sh."""
import json
import pathlib

from dsmr_parser import telegram_specifications as specifications
from dsmr_parser.parsers import TelegramParser

FOLDER = pathlib.Path(__file__).parents[1] / "fixtures/meters/p1"
SPECIFICATIONS = {"BE": "BELGIUM_FLUVIUS", "SE": "SWEDEN", "AT": "SAGEMCOM_T210_D_R", "NL": "V4", "CH": "V5"}


def numbers(telegram):
    found = {}
    for name, value in telegram:
        if name == "MBUS_DEVICES":
            for device in value:
                for key, reading in device:
                    if hasattr(reading, "value") and reading.unit:
                        found[f"{key}_{device.channel_id}"] = [float(reading.value), reading.unit]
        elif getattr(value, "unit", None) and not isinstance(value.value, str):
            found[name] = [float(value.value), value.unit]
    return found


rows = []
for fixture in map(json.loads, (FOLDER / "telegrams.jsonl").read_text().splitlines()):
    # The specification of the T210-D-r takes ciphered telegrams; this one was deciphered by the source.
    specification = dict(getattr(specifications, SPECIFICATIONS[fixture["country"]]), general_global_cipher=False)
    parser = TelegramParser(specification)
    name = f"{fixture['country']} {fixture['maker']} {fixture['list']}"
    try:
        answer = numbers(parser.parse(fixture["telegram"]))
    except Exception as error:  # what a reader does not read is an answer too
        answer = {"error": type(error).__name__}
    rows.append(json.dumps([name, answer]))
for fixture in map(json.loads, (FOLDER / "encrypted.jsonl").read_text().splitlines()):
    parser = TelegramParser({"LU": specifications.MSN, "AT": specifications.SAGEMCOM_T210_D_R}[fixture["country"]])
    options = fixture["options"]
    # MSN brings the authentication key that Luxembourg has published.
    answer = numbers(parser.parse(fixture["hex"], options["encryptionKey"], options.get("authenticationKey", "")))
    rows.append(json.dumps([f"{fixture['country']} {fixture['maker']} {fixture['list']}", answer]))
(FOLDER / "second-readers.jsonl").write_text("\n".join(rows) + "\n")

"""Runs a program of bleak with recorded advertisements in place of an adapter: replay_bluetooth.py RECORD PROGRAM [ARGUMENT …]."""
import asyncio
import inspect
import json
import runpy
import sys

import bleak
from bleak.backends.device import BLEDevice
from bleak.backends.scanner import AdvertisementData

with open(sys.argv[1]) as record:
    ADVERTISEMENTS = json.load(record)
EVERY_S = 0.5


class RecordedScanner:
    def __init__(self, detection_callback=None, **_options):
        self.callback = detection_callback
        self.task = None

    async def start(self):
        self.task = asyncio.ensure_future(self.play())

    async def stop(self):
        self.task.cancel()

    async def play(self):
        while True:
            for one in ADVERTISEMENTS:
                data = AdvertisementData(one["name"], {one["company"]: bytes.fromhex(one["hex"])}, {}, [], None, -60, ())
                waiting = self.callback(BLEDevice(one["address"], one["name"], None), data)
                if inspect.isawaitable(waiting):
                    await waiting
            await asyncio.sleep(EVERY_S)


if __name__ == "__main__":
    bleak.BleakScanner = RecordedScanner
    sys.argv = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")

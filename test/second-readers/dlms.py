"""Writes what gurux-dlms and amshan read in the DLMS telegrams of test/fixtures/meters/dlms, for the tests to compare. Run by second-readers.sh."""
import contextlib
import io
import json
import pathlib

from gurux_dlms import GXByteBuffer, GXReplyData
from gurux_dlms.enums import InterfaceType, Security
from gurux_dlms.secure import GXDLMSSecureClient
from han.autodecoder import AutoDecoder
from han.hdlc import HdlcFrameReader

FOLDER = pathlib.Path(__file__).parents[1] / "fixtures/meters/dlms"
MAX_FRAMES = 10


def leaves(value):
    """Numbers as they are, and texts and bytes in hex, whatever lies around them."""
    if isinstance(value, (bytes, bytearray)):
        return [value.hex()]
    if isinstance(value, str):
        return [value.encode("latin1").hex()]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def by_gurux(telegram):
    client = GXDLMSSecureClient(True)
    client.interfaceType = InterfaceType.WIRED_MBUS if telegram[0] == 0x68 else InterfaceType.HDLC
    client.ciphering.security = Security.AUTHENTICATION_ENCRYPTION
    client.ciphering.blockCipherKey = bytearray.fromhex("000102030405060708090A0B0C0D0E0F")
    client.ciphering.authenticationKey = bytearray.fromhex("D0D1D2D3D4D5D6D7D8D9DADBDCDDDEDF")
    reply, data, notify = GXByteBuffer(telegram), GXReplyData(), GXReplyData()
    for _ in range(MAX_FRAMES):
        if reply.position >= reply.size:
            break
        client.getData(reply, data, notify)
        if notify.isComplete() and not notify.isMoreData() and notify.data.size:
            break
    return None if notify.value is None else leaves(notify.value)


def by_amshan(telegram):
    frames = HdlcFrameReader(False).read(telegram + b"\x7e")
    decoded = [AutoDecoder().decode_message(frame) for frame in frames]
    numbers = {key: value for one in decoded if one for key, value in one.items() if isinstance(value, (int, float))}
    return numbers or None


def answer(read, telegram):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return read(telegram)
    except Exception as error:  # what a reader does not read is an answer too
        return {"error": type(error).__name__}


lines = (FOLDER / "telegrams.jsonl").read_text().splitlines()
answers = {}
for fixture in map(json.loads, lines):
    telegram = bytes.fromhex(fixture["telegram"])
    name = f"{fixture['country']} {fixture['maker']} {fixture['list']}"
    answers[name] = {"gurux": answer(by_gurux, telegram), "amshan": answer(by_amshan, telegram)}
rows = [json.dumps([name, row]) for name, row in answers.items()]
(FOLDER / "second-readers.jsonl").write_text("\n".join(rows) + "\n")

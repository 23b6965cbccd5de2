"""The safetensors format, written by hand: Debian has no package of it for the PyTorch that makes the goldens.

A file is the length of its header (8 bytes, little-endian), the header (JSON), and the tensors end to end.
"""

import json
import struct

import numpy

DTYPE_NAMES = {"float32": "F32", "int32": "I32", "int64": "I64", "uint8": "U8"}


def serialise(tensors, metadata):
    """The file's bytes. `tensors`: name -> numpy array; `metadata`: str -> str. The same input gives the same bytes."""
    header = {"__metadata__": dict(sorted(metadata.items()))}
    chunks = []
    offset = 0
    for name in sorted(tensors):
        array = numpy.ascontiguousarray(tensors[name])
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        header[name] = {
            "dtype": DTYPE_NAMES[array.dtype.name],
            "shape": list(tensors[name].shape),
            "data_offsets": [offset, offset + len(data)],
        }
        chunks.append(data)
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(chunks)

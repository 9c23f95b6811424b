"""Copies golden decoders with a longer context: the config specifies it, and position tables are repeated."""
import json
import os
import struct

TABLES = ("wpe.weight", "embed_positions.weight")


def write_longer(golden, folder, context, settings=None):
    """Writes `golden` into `folder` with room for `context` positions."""
    os.makedirs(folder)
    with open(os.path.join(golden, "config.json")) as file:
        config = json.load(file)
    for key in ("max_position_embeddings", "n_positions", "n_ctx"):
        if key in config:
            config[key] = context
    config.update(settings or {})
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    for name in os.listdir(golden):
        if name.endswith(".safetensors") and name.startswith("model"):
            lengthen(os.path.join(golden, name), os.path.join(folder, name), context)


def lengthen(source, target, context):
    """Copies a safetensors file; position tables get `context` rows (and OPT's two more)."""
    with open(source, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    parts, offset = [], 0
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        begin, end = tensor["data_offsets"]
        values = data[begin:end]
        if name.endswith(TABLES):
            rows = context + (2 if name.endswith("embed_positions.weight") else 0)
            stride = len(values) // tensor["shape"][0]
            values = (values * (rows // tensor["shape"][0] + 1))[: rows * stride]
            tensor["shape"][0] = rows
        tensor["data_offsets"] = [offset, offset + len(values)]
        offset += len(values)
        parts.append(values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))

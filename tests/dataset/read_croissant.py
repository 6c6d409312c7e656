"""Validate a croissant.json with mlcroissant, and read the first records of each record set: FILE ROWS."""

import json
import sys

import mlcroissant


def plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [plain(one) for one in value]
    if hasattr(value, "size") and isinstance(value.size, tuple):  # an image
        return list(value.size)
    return value.item() if hasattr(value, "item") else value


dataset = mlcroissant.Dataset(sys.argv[1])
found = {}
for records in dataset.metadata.record_sets if int(sys.argv[2]) else ():
    rows = found[records.name] = []
    for row in mlcroissant.Dataset(sys.argv[1]).records(records.uuid):
        rows.append({name.partition("/")[2]: plain(value) for name, value in row.items()})
        if len(rows) == int(sys.argv[2]):
            break
issues = dataset.metadata.ctx.issues
sys.stdout.write(json.dumps({"errors": sorted(issues.errors), "warnings": sorted(issues.warnings), "records": found}))

"""Takes the chat templates out of downloaded packages, for `fetch-models.mjs`.

    python extract-templates.py FOLDER LLAMA_CPP_PYTHON.tar.gz XINFERENCE.whl

Writes `<name>.jinja` for every template of the first, and `xinference-<name>.jinja`
for those of the second that know tools and are not in the first.
"""

import json
import pathlib
import sys
import tarfile
import zipfile

folder, source_distribution, wheel = sys.argv[1:]
known = set()


def write(name, template):
    known.add(template.strip())
    pathlib.Path(folder, f"{name}.jinja").write_bytes(template)


with tarfile.open(source_distribution) as archive:
    for member in archive:
        path = pathlib.PurePosixPath(member.name)
        if path.suffix == ".jinja" and path.parent.name == "templates":
            write(path.stem, archive.extractfile(member).read())

with zipfile.ZipFile(wheel) as archive:
    for name in sorted(archive.namelist()):
        if not name.startswith("xinference/model/llm/models/") or not name.endswith(".json"):
            continue
        families = json.loads(archive.read(name))
        for family in families if isinstance(families, list) else [families]:
            template = (family.get("chat_template") or "").encode()
            if b"tools" in template and template.strip() not in known:
                write(f"xinference-{family['model_name']}", template)

"""Records what Python renders, for `pnpm proof:templates`.

    python record-templates.py FIXTURES TEMPLATES VOCABULARIES

VOCABULARIES is JSON: {"name": {"folder": …, "template": …}}.

Templates are compiled by transformers itself, so its sandbox, filters and
globals are the reference. The clock stands at the time that a snippet names,
else at 2026-01-05 07:08:09.012.

Writes into FIXTURES: snippets.jsonl (each source with its output in full, or
the name of the exception), template-outputs.jsonl (a line for each template:
length and first 16 hexadecimal digits of the SHA-256 of each output, "error"
where Python raises) and template-ids.jsonl (count and hash of the ids that each
vocabulary has for what its template writes).
"""

import hashlib
import json
import pathlib
import platform
import re
import signal
import sys
import warnings
from datetime import datetime as real_datetime
from datetime import timedelta
from importlib.metadata import version

from tokenizers import Tokenizer
from transformers.utils import chat_template_utils
from transformers.utils.chat_template_utils import _compile_jinja_template

warnings.filterwarnings("ignore")
fixtures, templates, vocabularies = sys.argv[1:]
fixtures = pathlib.Path(fixtures)
default_now = [2026, 1, 5, 7, 8, 9, 12]


class Clock:
    """Stands in for `datetime` in transformers' module."""

    at = default_now

    @classmethod
    def now(cls):
        return real_datetime(*cls.at[:6]) + timedelta(milliseconds=cls.at[6])


chat_template_utils.datetime = Clock


def render(source, variables):
    """The text, or the name of the exception."""
    try:
        return _compile_jinja_template(source).render(**json.loads(variables)), None
    except Exception as error:  # whatever a template raises is the result
        return None, type(error).__name__


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def encoded(text):
    return text.encode("utf-8", "surrogatepass")


versions = {
    "python": platform.python_version(),
    "jinja2": version("jinja2"),
    "markupsafe": version("markupsafe"),
    "transformers": version("transformers"),
    "tokenizers": version("tokenizers"),
}


def write_lines(name, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (fixtures / name).write_text(text, encoding="utf-8")
    print(f"{name}: {len(rows) - 1} rows")


def read_lines(name):
    return (fixtures / name).read_text(encoding="utf-8").rstrip("\n").split("\n")


def record_snippets():
    header, *rows = map(json.loads, read_lines("snippets.jsonl"))
    recorded = [{"versions": versions, "variables": header["variables"]}]
    for row in rows:
        Clock.at = row.get("now", default_now)
        text, error = render(row["source"], header["variables"])
        kept = {key: row[key] for key in ("source", "now") if key in row}
        recorded.append({**kept, **({"output": text} if error is None else {"error": error})})
    Clock.at = default_now
    write_lines("snippets.jsonl", recorded)


def conversations():
    """Each id with the text of its variables as it stands in the file: numbers and repeated keys stay as they are."""
    for line in read_lines("conversations.jsonl"):
        match = re.fullmatch(r'\{"id": "([^"]+)", "variables": (.*)\}', line)
        yield match[1], match[2]


def record_templates():
    rows = [{"versions": versions}]
    for path in sorted(pathlib.Path(templates).glob("*.jinja")):
        source = path.read_bytes().decode("utf-8")
        outputs = {}
        for name, variables in conversations():
            text, error = render(source, variables)
            data = None if error else encoded(text)
            outputs[name] = "error" if error else f"{len(data)}:{digest(data)}"
        rows.append({"template": path.stem, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "outputs": outputs})
    write_lines("template-outputs.jsonl", rows)


def record_ids():
    rows = [{"versions": versions}]
    for vocabulary, parts in json.loads(vocabularies).items():
        tokenizer = Tokenizer.from_file(f"{parts['folder']}/tokenizer.json")
        source = pathlib.Path(templates, f"{parts['template']}.jinja").read_bytes().decode("utf-8")
        recorded = {}
        for name, variables in conversations():
            text, error = render(source, variables)
            if error or re.search("[\ud800-\udfff]", text):
                continue
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            recorded[name] = f"{len(ids)}:{digest(','.join(map(str, ids)).encode())}"
        rows.append({"vocabulary": vocabulary, "template": parts["template"], "ids": recorded})
    write_lines("template-ids.jsonl", rows)


signal.alarm(1200)
record_snippets()
record_templates()
record_ids()

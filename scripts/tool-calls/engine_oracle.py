"""Runs SGLang's and vLLM's own tool-call parsers over model outputs.

Reads JSON lines {id, format, raw, tools} from stdin, and writes for each the
calls and the text that each engine gets: {id, sglang, vllm}, where an engine
is {calls: [{name, arguments}], text}, {error}, or null where it has no parser
for the format.

The parsers are the engines' files, unpacked from their distributions and
unchanged. Everything heavy that they import (torch, transformers, the servers'
request classes) is replaced at import time by modules whose every attribute is
a class that keeps its keyword arguments.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import logging
import os
import sys
import types

SGLANG_ROOT, VLLM_ROOT = sys.argv[1], sys.argv[2]

# Packages whose files are real, and everything else below these roots is a stand-in.
REAL = {
    "sglang.srt.function_call": os.path.join(SGLANG_ROOT, "sglang/srt/function_call"),
    "sglang.srt.parser": os.path.join(SGLANG_ROOT, "sglang/srt/parser"),
    "vllm.tool_parsers": os.path.join(VLLM_ROOT, "vllm/tool_parsers"),
}
STAND_INS = (
    "sglang",
    "vllm",
    "openai",
    "openai_harmony",
    "transformers",
    "torch",
    "xgrammar",
    "mistral_common",
    "msgspec",
    "requests",
)


class Record:
    """Keeps what it is made with; any attribute it was not given is None."""

    def __init__(self, *arguments, **fields):
        self.__dict__.update(fields)

    def __class_getitem__(cls, item):
        return cls

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class Switches(Record):
    """Settings: each is off."""

    def __getattr__(self, name):
        return Record(get=lambda: False)


class StandIn(types.ModuleType):
    __path__: list = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("init_logger", "getLogger"):
            return logging.getLogger
        if name == "envs":
            value = Switches()
        elif self.__name__ == "vllm.envs":
            value = 1
        elif name == "random_uuid":
            value = lambda: "0"
        elif name == "is_list_of":
            value = lambda *arguments, **options: False
        elif name == "is_mistral_tokenizer":
            value = lambda tokenizer: tokenizer.version is not None
        elif name == "make_tool_call_id":
            value = lambda *arguments, **options: "0"
        else:
            value = type(name, (Record,), {})
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in REAL:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        package, _, module = name.rpartition(".")
        if package in REAL:
            file = os.path.join(REAL[package], module + ".py")
            if os.path.exists(file):
                return importlib.util.spec_from_file_location(name, file)
        if name.split(".")[0] in STAND_INS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name) if spec.name in REAL else StandIn(spec.name)
        if spec.name in REAL:
            module.__path__ = [REAL[spec.name]]
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())
logging.disable(logging.CRITICAL)


class Vocabulary(dict):
    """A token id for every text: parsers ask whether their markers are tokens."""

    def get(self, key, default=None):
        return self[key]

    def __missing__(self, key):
        self[key] = len(self) + 1
        return self[key]

    def __contains__(self, key):
        return True


class Tokenizer:
    def __init__(self, version):
        """version: that of a Mistral tokenizer, or None."""
        self.vocabulary = Vocabulary()
        self.version = version
        self.bos_token, self.eos_token = "<s>", "</s>"

    def get_vocab(self):
        return self.vocabulary

    def encode(self, text, add_special_tokens=False):
        return [self.vocabulary[text]]

    def decode(self, ids, **options):
        return ""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


SGLANG = {
    "hermes": ("hermes_detector", "HermesDetector"),
    "qwen3_coder": ("qwen3_coder_detector", "Qwen3CoderDetector"),
    "glm45": ("glm4_moe_detector", "Glm4MoeDetector"),
    "glm47": ("glm47_moe_detector", "Glm47MoeDetector"),
    "kimi_k2": ("kimik2_detector", "KimiK2Detector"),
    "deepseek_v3": ("deepseekv3_detector", "DeepSeekV3Detector"),
    "deepseek_v31": ("deepseekv31_detector", "DeepSeekV31Detector"),
    "deepseek_v32": ("deepseekv32_detector", "DeepSeekV32Detector"),
    "llama3_json": ("llama32_detector", "Llama32Detector"),
    "pythonic": ("pythonic_detector", "PythonicDetector"),
    "mistral": ("mistral_detector", "MistralDetector"),
    "mistral_pre11": ("mistral_detector", "MistralDetector"),
    "minimax_m2": ("minimax_m2", "MinimaxM2Detector"),
    "gpt_oss": ("gpt_oss_detector", "GptOssDetector"),
    "step3": ("step3_detector", "Step3Detector"),
}
VLLM = {
    "hermes": ("hermes_tool_parser", "Hermes2ProToolParser"),
    "qwen3_coder": ("qwen3coder_tool_parser", "Qwen3CoderToolParser"),
    "glm45": ("glm4_moe_tool_parser", "Glm4MoeModelToolParser"),
    "glm47": ("glm47_moe_tool_parser", "Glm47MoeModelToolParser"),
    "kimi_k2": ("kimi_k2_tool_parser", "KimiK2ToolParser"),
    "deepseek_v3": ("deepseekv3_tool_parser", "DeepSeekV3ToolParser"),
    "deepseek_v31": ("deepseekv31_tool_parser", "DeepSeekV31ToolParser"),
    "deepseek_v32": ("deepseekv32_tool_parser", "DeepSeekV32ToolParser"),
    "llama3_json": ("llama_tool_parser", "Llama3JsonToolParser"),
    "pythonic": ("pythonic_tool_parser", "PythonicToolParser"),
    "mistral": ("mistral_tool_parser", "MistralToolParser"),
    "mistral_pre11": ("mistral_tool_parser", "MistralToolParser"),
    "minimax_m2": ("minimax_m2_tool_parser", "MinimaxM2ToolParser"),
    "step3": ("step3_tool_parser", "Step3ToolParser"),
}


def load(package, entry):
    module, name = entry
    return getattr(importlib.import_module(f"{package}.{module}"), name)


def as_tools(tools):
    """The tools as the engines' request classes hold them."""
    made = []
    for tool in tools:
        function = tool["function"]
        made.append(
            Record(
                type="function",
                function=Record(name=function["name"], parameters=function["parameters"], strict=False),
            )
        )
    return made


def read_arguments(text):
    try:
        return json.loads(text)
    except ValueError:
        return {"(not JSON)": text}


def run_sglang(row, format_name):
    detector = load("sglang.srt.function_call", SGLANG[format_name])()
    result = detector.detect_and_parse(row["raw"], as_tools(row["tools"]))
    calls = [{"name": call.name, "arguments": read_arguments(call.parameters)} for call in result.calls]
    return {"calls": calls, "text": result.normal_text or ""}


def run_vllm(row):
    kind = load("vllm.tool_parsers", VLLM[row["format"]])
    tools = as_tools(row["tools"])
    parser = kind(Tokenizer(13 if row["format"] == "mistral" else None), tools)
    request = Record(tools=tools, tool_choice="auto", skip_special_tokens=False)
    result = parser.extract_tool_calls(row["raw"], request)
    calls = [
        {"name": call.function.name, "arguments": read_arguments(call.function.arguments)}
        for call in (result.tool_calls or [])
    ]
    return {"calls": calls, "text": result.content or ""}


def attempt(known, name, run):
    if name not in known:
        return None
    try:
        return run()
    except Exception as error:  # What an engine can't read is a result, not a failure of this program.
        return {"error": f"{type(error).__name__}: {error}"[:200]}


def main():
    for line in sys.stdin:
        row = json.loads(line)
        name = row["format"]
        print(
            json.dumps(
                {
                    "id": row["id"],
                    "sglang": attempt(SGLANG, name, lambda: run_sglang(row, name)),
                    "vllm": attempt(VLLM, name, lambda: run_vllm(row)),
                }
            )
        )


main()

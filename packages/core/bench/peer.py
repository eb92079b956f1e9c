"""The peer of bench:alignment: what slime's adapter does for each turn, in Python.

    python peer.py turns SLIME_DIR TOKENIZER_DIR CONVERSATION.json ROUNDS
    python peer.py linearize SLIME_DIR TURNS NEW_TOKENS ROUNDS

slime's own code runs (slime/agent: translation, rendering with
apply_chat_template, encoding, trajectory); torch and slime.utils.misc, which it
imports and does not use here, are stood in for. SGLang's output parsers are not
installed, so an output costs the peer less than it would. Prints one JSON object;
times are CPU milliseconds of the process, medians over rounds.
"""

import json
import statistics
import sys
import time
import types


def import_slime(directory):
    torch = types.ModuleType("torch")
    torch.Tensor = torch.dtype = torch.Size = type("Tensor", (), {})
    misc = types.ModuleType("slime.utils.misc")
    misc.decode_int32_meta_array = None
    sys.modules["torch"] = torch
    sys.modules["slime.utils.misc"] = misc
    sys.path.insert(0, directory)
    from slime.agent import trajectory
    from slime.agent.adapters import common, openai
    from slime.agent.parsing import parse_model_output
    from slime.utils.types import Sample

    # transformers looks for torch by itself.
    del sys.modules["torch"]
    return types.SimpleNamespace(
        trajectory=trajectory, common=common, openai=openai, parse_model_output=parse_model_output, Sample=Sample
    )


def load_tokenizer(directory):
    from transformers import PreTrainedTokenizerFast

    config = json.load(open(f"{directory}/tokenizer_config.json"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=f"{directory}/tokenizer.json")
    tokenizer.chat_template = config["chat_template"]
    return tokenizer


class Clock:
    """CPU time by name; `total` is everything between start and stop."""

    def __init__(self):
        self.spent = {}

    def run(self, name, act):
        start = time.process_time()
        result = act()
        self.spent[name] = self.spent.get(name, 0.0) + (time.process_time() - start) * 1000
        return result


def play(slime, tokenizer, conversation):
    adapter = slime.openai.OpenAIAdapter(tokenizer=tokenizer, sglang_url="http://127.0.0.1:1")
    bodies, outputs = conversation["bodies"], conversation["outputIds"]
    echoes = echoed_replies(adapter, bodies)
    costs = []
    for turn, text in enumerate(bodies):
        clock = Clock()
        start = time.process_time()
        body = clock.run("jsonParse", lambda: json.loads(text))
        translated, tools = clock.run("translate", lambda: adapter._translate(body))
        prompt = clock.run(
            "render", lambda: slime.common._render_token_ids(translated, tokenizer, tools=tools, add_generation_prompt=True)
        )
        sampling = slime.common._sampling_params(
            slime.common.Session(), body, max_token_keys=adapter.max_token_keys, stop_keys=adapter.stop_keys
        )
        request = {"rid": "r", "input_ids": prompt, "sampling_params": sampling, "return_logprob": True}
        clock.run("request", lambda: json.dumps(request).encode())
        ids = outputs[turn]
        record = slime.trajectory.TurnRecord(
            prompt_ids=list(prompt), output_ids=ids, finish_reason="stop", output_log_probs=[-0.5] * len(ids)
        )
        raw = tokenizer.decode(ids, skip_special_tokens=False)
        parsed = slime.parse_model_output(
            raw, tools_schema=tools, tool_parser_name=None, reasoning_parser_name=None
        )
        reply = adapter._build_reply(parsed, "stop", translated, tools)
        wire, finish = reply.wire
        json.dumps(slime.openai._render_response(body, wire, finish, len(prompt), len(ids)))
        clock.run(
            "record",
            lambda: adapter.manager.record_turn(
                "sid",
                turn=record,
                prompt_messages=translated,
                response_message=echoes[turn] or reply.manager_message,
                metadata={"sid": "sid"},
            ),
        )
        clock.spent["total"] = (time.process_time() - start) * 1000
        costs.append(clock.spent)
    return costs, len(prompt)


def echoed_replies(adapter, bodies):
    """Each reply as the client sends it back with the next request, so that the peer's history matches."""
    translated = [adapter._translate(json.loads(body))[0] for body in bodies]
    return [later[len(earlier)] for earlier, later in zip(translated, translated[1:])] + [None]


def measure_turns(slime, tokenizer_directory, conversation_file, rounds):
    tokenizer = load_tokenizer(tokenizer_directory)
    conversation = json.load(open(conversation_file))
    play(slime, tokenizer, conversation)
    plays = []
    for _ in range(rounds):
        costs, prompt_tokens = play(slime, tokenizer, conversation)
        plays.append(costs)
    names = plays[0][0].keys()
    by_turn = [
        {name: statistics.median(costs[turn][name] for costs in plays) for name in names}
        for turn in range(len(plays[0]))
    ]
    return {"byTurn": by_turn, "promptTokens": prompt_tokens}


def measure_linearize(slime, turns, new_tokens, rounds):
    # slime walks its tree by recursion, two levels a turn: Python's own limit ends that at 500 turns.
    sys.setrecursionlimit(100_000)
    half = new_tokens // 2
    times = []
    for _ in range(rounds):
        manager = slime.trajectory.TrajectoryManager()
        held, messages = list(range(100)), [{"role": "user", "content": "go"}]
        for turn in range(turns):
            output = [(turn * 31 + index) % 150000 for index in range(half)]
            reply = {"role": "assistant", "content": f"reply {turn}"}
            record = slime.trajectory.TurnRecord(
                prompt_ids=list(held), output_ids=output, finish_reason="stop", output_log_probs=[-0.5] * half
            )
            manager.record_turn("sid", turn=record, prompt_messages=list(messages), response_message=reply)
            held += output + [(turn * 17 + index) % 150000 for index in range(half)]
            messages += [reply, {"role": "tool", "content": f"result {turn}"}]
        start = time.process_time()
        samples = manager.get_trajectory("sid", base_sample=slime.Sample(), reward=1.0)
        times.append((time.process_time() - start) * 1000)
        assert len(samples) == 1 and sum(samples[0].loss_mask) == turns * half
    return {"milliseconds": statistics.median(times), "tokens": len(samples[0].tokens)}


if __name__ == "__main__":
    task, directory, *arguments = sys.argv[1:]
    slime = import_slime(directory)
    if task == "turns":
        result = measure_turns(slime, arguments[0], arguments[1], int(arguments[2]))
    else:
        result = measure_linearize(slime, *(int(argument) for argument in arguments))
    print(json.dumps(result))

"""Records slime's Karmarkar-Karp partitions, balanced schedules and FLOP counts.

    python write_fixtures.py OUTPUT_FOLDER SLIME_DIR

The files of SLIME_DIR are imported by themselves; nothing beyond Python's
standard library is needed.
"""

import json
import logging
import random
import sys
import types
from pathlib import Path

folder, slime = Path(sys.argv[1]), Path(sys.argv[2])
for name in ("slime", "slime.utils"):
    package = types.ModuleType(name)
    package.__path__ = [str(slime / name.replace(".", "/"))]
    sys.modules[name] = package
logging.disable(logging.CRITICAL)

from slime.utils.dp_schedule import build_dp_schedule  # noqa: E402
from slime.utils.flops_utils import calculate_fwd_flops  # noqa: E402
from slime.utils.seqlen_balancing import get_seqlen_balanced_partitions  # noqa: E402

source = random.Random(20261129)


def partition_rows():
    rows = []
    while len(rows) < 120:
        bins = source.randint(1, 9)
        is_equal = source.random() < 0.4
        count = bins * source.randint(1, 6) if is_equal else source.randint(bins, 50)
        longest = source.choice([1, 3, 10, 100, 100_000])
        lengths = [source.randint(0 if longest < 100 else 1, longest) for _ in range(count)]
        partition = get_seqlen_balanced_partitions(lengths, bins, is_equal)
        rows.append({"lengths": lengths, "binCount": bins, "isEqualCount": is_equal, "bins": partition})
    return rows


def model(kind):
    shape = types.SimpleNamespace(
        hidden_size=source.choice([64, 1024, 5120]),
        num_attention_heads=source.choice([8, 16, 40]),
        num_query_groups=source.choice([1, 4, 8]),
        kv_channels=source.choice([64, 128]),
        ffn_hidden_size=source.choice([256, 4096]),
        vocab_size=source.choice([1000, 151_936]),
        num_layers=source.choice([1, 28, 64]),
        num_experts=None,
    )
    if kind == "experts":
        shape.num_experts = 64
        shape.moe_ffn_hidden_size = 768
        shape.moe_router_topk = 8
        shape.moe_shared_expert_intermediate_size = 512
    return shape


def flops_rows():
    rows = []
    for kind in ("dense", "experts") * 5:
        shape = model(kind)
        tokens = source.choice([1, 77, 4096, 96_000])
        feed_forward = shape.ffn_hidden_size
        if kind == "experts":
            feed_forward = (
                shape.moe_ffn_hidden_size * shape.moe_router_topk + shape.moe_shared_expert_intermediate_size
            )
        rows.append(
            {
                "model": {
                    "layers": shape.num_layers,
                    "hiddenSize": shape.hidden_size,
                    "queryHeads": shape.num_attention_heads,
                    "keyValueHeads": shape.num_query_groups,
                    "headSize": shape.kv_channels,
                    "feedForwardSize": feed_forward,
                    "vocabularySize": shape.vocab_size,
                },
                "tokens": tokens,
                "flops": int(calculate_fwd_flops([tokens], shape)),
            }
        )
    return rows


def balanced_rows():
    """Schedules under balance_data: ranks balanced by FLOPs."""
    rows = []
    while len(rows) < 20:
        shape = model("dense")
        dp, count = source.choice([2, 4]), source.randint(12, 40)
        lengths = [source.randint(10, 3000) for _ in range(count)]
        arguments = types.SimpleNamespace(
            **vars(shape),
            use_dynamic_batch_size=True,
            max_tokens_per_gpu=4096,
            micro_batch_size=None,
            balance_data=True,
            balance_by_flops=False,
        )
        parallel = {"dp_size": dp, "cp_size": 1, "vpp_size": 1, "microbatch_group_size_per_vp_stage": 1}
        try:
            partitions, indices, counts, _ = build_dp_schedule(
                arguments, parallel, lengths, global_batch_size=count, rollout_indices=list(range(count))
            )
        except AssertionError:
            continue
        rows.append(
            {
                "model": {
                    "layers": shape.num_layers,
                    "hiddenSize": shape.hidden_size,
                    "queryHeads": shape.num_attention_heads,
                    "keyValueHeads": shape.num_query_groups,
                    "headSize": shape.kv_channels,
                    "feedForwardSize": shape.ffn_hidden_size,
                    "vocabularySize": shape.vocab_size,
                },
                "lengths": lengths,
                "dpSize": dp,
                "partitions": partitions,
                "microBatchIndices": indices,
                "numMicrobatches": counts,
            }
        )
    return rows


path = folder / "slime-balancing.json"
rows = {"slime": "624b824a", "partitions": partition_rows(), "flops": flops_rows(), "balanced": balanced_rows()}
path.write_text(json.dumps(rows) + "\n")
print(f"wrote {path}")

"""Writes the losses and advantages of slime that the tests of @agentrl/metrics compare with.

    python write_slime_fixture.py OUTPUT_FOLDER SLIME_DIR

slime's reward post-processing and loss reducers are compiled one function at a
time, and run on NumPy arrays (float64) in place of tensors.
"""

import ast
import json
import random
import sys
import types
from pathlib import Path

import numpy

source = random.Random(20261129)


class Tensor(numpy.ndarray):
    """As much of a tensor as slime's reducers and reward post-processing use."""

    def split(self, lengths, dim=0):
        edges = numpy.cumsum([0, *lengths])
        return [self[start:end] for start, end in zip(edges, edges[1:])]

    def view(self, *shape):
        return self.reshape(*shape)

    def mean(self, dim, keepdim):
        return numpy.asarray(self).mean(axis=dim, keepdims=keepdim).view(Tensor)

    def std(self, dim, keepdim):
        return numpy.asarray(self).std(axis=dim, keepdims=keepdim, ddof=1).view(Tensor)


def tensor(values, dtype=None):
    return numpy.array(values, dtype=numpy.float64).view(Tensor)


def slime_function(path, name, namespace):
    """One function of a slime file, compiled by itself, so that its imports are not needed."""
    tree = ast.parse(Path(path).read_text())
    found = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    found.returns = None
    found.decorator_list = []
    for argument in (*found.args.args, *found.args.kwonlyargs):
        argument.annotation = None
    for node in ast.walk(found):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
    exec(compile(ast.Module([found], []), path, "exec"), namespace)
    return namespace[name]


def slime_rows(slime):
    torch = types.SimpleNamespace(float=numpy.float64, tensor=tensor, clamp_min=lambda value, least: max(value, least))
    mpu = types.SimpleNamespace(get_context_parallel_world_size=lambda: 1)
    reducer_of = slime_function(
        f"{slime}/slime/backends/megatron_utils/cp_utils.py", "get_sum_of_sample_mean", {"torch": torch, "mpu": mpu}
    )
    post_process = slime_function(f"{slime}/slime/ray/rollout.py", "_post_process_rewards", {"torch": torch})
    weights, advantages = [], []
    for _ in range(12):
        rollout_ids = [rollout for rollout in range(source.randint(1, 6)) for _ in range(source.randint(1, 3))]
        masks = [[source.randint(0, 1) for _ in range(source.randint(1, 9))] for _ in rollout_ids]
        sums = {rollout: sum(sum(mask) for mask, other in zip(masks, rollout_ids) if other == rollout) for rollout in rollout_ids}
        values = [[source.gauss(0, 1) for _ in mask] for mask in masks]
        flat = tensor([value for row in values for value in row])
        lengths = [len(mask) for mask in masks]
        tensors = [tensor(mask) for mask in masks]
        per_rollout = reducer_of(lengths, lengths, tensors, [sums[rollout] for rollout in rollout_ids])
        per_segment = reducer_of(lengths, lengths, tensors)
        per_token = reducer_of(lengths, lengths, tensors, None, True)
        token_count = sum(max(sum(mask), 1) for mask in masks)
        weights.append(
            {
                "rolloutIds": rollout_ids,
                "masks": masks,
                "values": values,
                "per-rollout": float(per_rollout(flat)) / len(set(rollout_ids)),
                "per-segment": float(per_segment(flat)) / len(rollout_ids),
                "per-token": float(per_token(flat)) / token_count,
            }
        )
    for _ in range(12):
        groups, size = source.randint(1, 5), source.randint(2, 8)
        rewards = [source.choice([0, 0, 1, source.random()]) for _ in range(groups * size)]
        for is_scaled in (True, False):
            arguments = types.SimpleNamespace(
                advantage_estimator="grpo",
                rewards_normalization=True,
                grpo_std_normalization=is_scaled,
                n_samples_per_prompt=size,
                rollout_batch_size=groups,
            )
            owner = types.SimpleNamespace(custom_reward_post_process_func=None, args=arguments)
            samples = [types.SimpleNamespace(get_reward_value=lambda _, reward=reward: reward) for reward in rewards]
            _, normalized = post_process(owner, samples)
            advantages.append({"groupSize": size, "rewards": rewards, "isScaled": is_scaled, "advantages": normalized})
    return {"weights": weights, "advantages": advantages}


path = Path(sys.argv[1]) / "slime.json"
rows = {"slime": "624b824a", "numpy": numpy.__version__, **slime_rows(sys.argv[2])}
path.write_text(json.dumps(rows, indent=1, default=float) + "\n")
print(f"wrote {path}")

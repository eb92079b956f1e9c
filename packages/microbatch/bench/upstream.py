"""The Python side of bench:microbatch: one measurement for each call.

    python upstream.py ALGORITHM LENGTHS.json BINS_OR_CAP REPEATS [CHECKOUT]

Prints {"seconds": [...], "bins": [[...]]} as JSON. `heap-lpt` is written here;
the others are imported from CHECKOUT, a clone of slime or verl, file by file,
so that neither's dependencies are needed.
"""

import ast
import gc
import heapq
import json
import sys
import time
import types


def heap_lpt(lengths, bin_count):
    bins = [[] for _ in range(bin_count)]
    heap = [(0, number) for number in range(bin_count)]
    for sample in sorted(range(len(lengths)), key=lambda sample: -lengths[sample]):
        load, number = heap[0]
        bins[number].append(sample)
        heapq.heapreplace(heap, (load + lengths[sample], number))
    return bins


def imported(path, names):
    """The named functions of a file, compiled without the rest of it."""
    tree = ast.parse(open(path).read())
    kept = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    namespace = {"heapq": heapq}
    exec(compile(ast.Module(kept, []), path, "exec"), namespace)
    return types.SimpleNamespace(**{name: namespace[name] for name in names})


def algorithm(name, checkout):
    if name == "heap-lpt":
        return heap_lpt
    if name == "slime-first-fit":
        return imported(f"{checkout}/slime/utils/seqlen_balancing.py", ["first_fit_pack"]).first_fit_pack
    file = {"slime-kk": "slime/utils/seqlen_balancing.py", "verl-kk": "verl/utils/seqlen_balancing.py"}[name]
    names = ["karmarkar_karp", "get_seqlen_balanced_partitions"]
    balanced = imported(f"{checkout}/{file}", names).get_seqlen_balanced_partitions
    return lambda lengths, bin_count: balanced(lengths, bin_count, equal_size=False)


def main():
    name, path, size, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    run = algorithm(name, sys.argv[5] if len(sys.argv) > 5 else None)
    lengths = json.load(open(path))
    seconds = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        bins = run(lengths, size)
        seconds.append(time.perf_counter() - start)
    json.dump({"seconds": seconds, "bins": bins}, sys.stdout)


main()

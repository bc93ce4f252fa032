"""What the pages say of a GPU is what the stored output of the benchmarks says."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_ratios_of_an_epoch():
    rows = re.findall(r"lists a batch: ([\d.]+) of (\d+)(?: / (\d+))?:", read("benchmarks/results/gpu_training.txt"))
    eager = [float(ours) / float(peer) for ours, peer, _ in rows]
    compiled = [float(ours) / float(peer) for ours, _, peer in rows if peer]
    assert (len(eager), len(compiled)) == (8, 4)
    ends = (f"{end(ratios):.2f}" for ratios in (eager, compiled) for end in (min, max))
    told = "| {}–{} of the time, {}–{} if compiled | a PyTorch loop over padded batches".format(*ends)
    assert told in read("README.md")


def test_the_quality_on_two_devices():
    rows = re.findall(r"(cpu|cuda)\s+([\d.]+); copies ([\d. ]+);", read("benchmarks/results/gpu_quality.txt"))
    page = read("docs/gpu.md")
    means = [mean for _, mean, _ in rows]
    assert "was {} on a CPU and {} on a GPU with `c-kl`, and {} and {} with".format(*means) in page
    ends = [each for _, _, copies in rows[:2] for each in (min(copies.split()), max(copies.split()))]
    assert "single copies {} to {} on the CPU and {} to {} on the GPU".format(*ends) in page


def test_what_is_slower_than_plain_pytorch():
    output, page = read("benchmarks/results/gpu-h200.txt"), read("docs/gpu.md")
    eager, graphs = (
        {name: float(ratio) for name, ratio in re.findall(rf"([\w-]+) \({way} ([\d.]+)\)", output)}
        for way in ("eager", "graph")
    )
    *sampled, fair = eager
    assert (sampled, fair) == (["policy-gradient", "pl-rank-1", "pl-rank-2"], "fair-policy")
    low, high = (end(eager[name] for name in sampled) for end in (min, max))
    told = f"take {low:.1f} to {high:.1f} times as long, and `fair-policy` {eager[fair]:.1f} times."
    assert f"`policy-gradient`, `pl-rank-1` and `pl-rank-2` {told}" in page
    others = {name: ratio for name, ratio in graphs.items() if name not in eager}
    *names, last = (f"`{name}`" for name in others)
    low, high = (end(others.values()) for end in (min, max))
    assert f"{', '.join(names)} and {last} take {low:.1f} to {high:.1f} times as long there" in page

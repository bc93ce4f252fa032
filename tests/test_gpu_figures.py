"""What the pages say of a GPU is what the stored output of the benchmarks says."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_ratios_of_an_epoch():
    rows = re.findall(r"lists a batch: ([\d.]+) of (\d+)(?: / (\d+))?:", read("benchmarks/results/gpu_training.txt"))
    ratios = [float(ours) / float(peer) for ours, *peers in rows for peer in peers if peer]
    assert len(ratios) == 12
    assert f"| {min(ratios):.2f}–{max(ratios):.2f} of the time | a PyTorch loop over padded batches" in read(
        "README.md"
    )


def test_the_quality_on_two_devices():
    rows = re.findall(r"(cpu|cuda)\s+([\d.]+); copies ([\d. ]+);", read("benchmarks/results/gpu_quality.txt"))
    page = read("docs/gpu.md")
    means = [mean for _, mean, _ in rows]
    assert "was {} on a CPU and {} on a GPU with `c-kl`, and {} and {} with".format(*means) in page
    ends = [each for _, _, copies in rows[:2] for each in (min(copies.split()), max(copies.split()))]
    assert "single copies {} to {} on the CPU and {} to {} on the GPU".format(*ends) in page


def test_what_is_slower_than_plain_pytorch():
    slower = re.findall(r"([\w-]+) \(eager ([\d.]+)\)", read("benchmarks/results/gpu-h200.txt"))
    ratios = {name: float(ratio) for name, ratio in slower}
    *sampled, fair = ratios
    assert (sampled, fair) == (["policy-gradient", "pl-rank-1", "pl-rank-2"], "fair-policy")
    low, high = (f(ratios[name] for name in sampled) for f in (min, max))
    text = (
        f"`policy-gradient`, `pl-rank-1` and `pl-rank-2` take {low:.1f} to {high:.1f} times as long, and `fair-policy` "
    )
    assert text + f"{ratios[fair]:.1f} times." in read("docs/gpu.md")

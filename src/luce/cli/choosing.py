"""`luce train --model auto`: the choice of a ranker, and what is said of it."""

from typing import Any

from luce.cli.output import progress, say


def choose(dataset: Any, validation: Any, budget: float, seed: int, threads: int | None) -> Any:
    """Try the candidates, and say what came of each."""
    from luce.experiments.auto import choose_ranker

    with progress("Choosing a model") as report:
        choice = choose_ranker(
            dataset,
            validation=validation,
            budget=budget,
            random_state=seed,
            n_jobs=threads,
            callback=lambda name, fraction: report(fraction, name),
        )
    for each in choice.candidates:
        score = f"{choice.metric} {each.mean:.4f}, standard error {each.error:.4f}, {each.seconds:.1f} s"
        say(each.note or score, each.name)
    say(f"{choice.reason}. To skip the search: {same_command(choice).strip()}", "Selected")
    return choice


def same_command(choice: Any) -> str:
    """The options that name the chosen ranker, with a space after them; none where nothing was chosen.

    >>> same_command(None)
    ''
    """
    from luce.experiments.auto import CANDIDATES

    return "" if choice is None else f"{CANDIDATES[choice.name].command} "


def described(choice: Any) -> dict[str, Any]:
    """The choice as JSON has it."""
    candidates = [each._asdict() for each in choice.candidates]
    return {"model": choice.name, "reason": choice.reason, "metric": choice.metric, "candidates": candidates}

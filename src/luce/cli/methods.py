"""The methods that `luce compare` sets against each other: models × objectives, presets, and peers, by their rows."""

import re
from typing import Any

from luce.cli.output import say
from luce.cli.rankers import make_preset, make_ranker, names_in, settings_of
from luce.errors import OptionError, unknown_name

FIRST = {"linear": "listmle,pl-partition", "trees": "pl-partition"}
"""What a newcomer sees: objectives by model."""
FIRST_PEER = "lightgbm-lambdarank"
GOALS = "listmle,pl-partition"
INSTALLED = "installed"
_GOAL = re.compile(r"([^,()]+?)\s*(?:\(([^()]*)\))?\s*(?:,|$)")


def methods_of(
    models: str | None,
    objectives: str | None,
    presets: str | None,
    peers: str | None,
    setting: list[str] | None,
    threads: int | None,
) -> dict[str, Any]:
    """Rankers and peers, not fitted, by the name of their row; all names and settings are checked."""
    from luce.experiments.peers import PEERS, peer

    ours, others = _chosen(models, objectives, presets, peers)
    systems = [] if presets is None else names_in(presets, "--presets")
    used = [*dict.fromkeys(kind for kind, _ in ours), *map(_model_of, systems)]
    _refuse_labels(used)
    hidden = ("random_state", "n_jobs")
    known = {name: {k: v for k, v in PEERS[name]().get_params().items() if k not in hidden} for name in others}
    settings = settings_of(setting, list(dict.fromkeys(used)), known)
    rows = {f"{kind} {goal}": _ranker(kind, goal, settings[kind], threads) for kind, goal in ours}
    rows |= {name: make_preset(name, settings[_model_of(name)], 0, threads) for name in systems}
    return rows | {name: peer(name, **settings[name], n_jobs=threads) for name in others}


def _chosen(
    models: str | None, objectives: str | None, presets: str | None, peers: str | None
) -> tuple[list[tuple[str, str]], list[str]]:
    """Models with objectives, and peers: what was asked for, or the first look where nothing was."""
    if models is objectives is presets is peers is None:
        from luce.experiments.peers import is_installed

        if not is_installed(FIRST_PEER):
            say("Trees and LightGBM are left out, as LightGBM is not installed: pip install 'luce[trees]'")
            return [("linear", goal) for goal in FIRST["linear"].split(",")], []
        return [(kind, goal) for kind, goals in FIRST.items() for goal in goals.split(",")], [FIRST_PEER]
    ours = models is not None or objectives is not None
    kinds = names_in(models or "linear", "--models") if ours else []
    goals = goals_in(objectives or GOALS, "--objectives") if ours else []
    return [(kind, goal) for kind in kinds for goal in goals], _peers(peers)


def goals_in(given: str, option: str) -> list[str]:
    """Objectives with commas between them, each by name or with options in brackets.

    >>> goals_in("listnet, listmle(depth=10, permutations=3)", "--objectives")
    ['listnet', 'listmle(depth=10, permutations=3)']
    """
    found, end = [], 0
    for match in _GOAL.finditer(given.strip()):
        if match.start() != end:
            break
        end = match.end()
        name, options = match.group(1).strip(), match.group(2)
        found.append(name if options is None else f"{name}({options})")
    if not found or end != len(given.strip()) or len(set(found)) < len(found):
        raise OptionError(f"{option} takes names with commas between them, each once. Got {given!r}.")
    return found


def _ranker(kind: str, goal: str, settings: dict[str, Any], threads: int | None) -> Any:
    name, _, options = goal.rstrip(")").partition("(")
    words = [word.strip() for word in options.split(",") if word.strip()]
    return make_ranker(kind, name, words, settings, 0, threads)


def _peers(given: str | None) -> list[str]:
    from luce.experiments.peers import PEERS, is_installed

    if given is None:
        return []
    if given.strip() != INSTALLED:
        names = names_in(given, "--peers")
        for name in names:
            if name not in PEERS:
                raise unknown_name("peer", name, [*PEERS, INSTALLED])
        return names
    missing = {PEERS[name].packages[0]: PEERS[name].extra for name in PEERS if not is_installed(name)}
    for package, extra in missing.items():
        say(f"{package} is left out, as it is not installed: pip install 'luce[{extra}]'")
    return [name for name in PEERS if is_installed(name)]


def _model_of(preset: str) -> str:
    from luce.rankers.presets import preset_of

    return preset_of(preset).model


def _refuse_labels(kinds: list[str]) -> None:
    from luce.rankers import RANKERS, Ranker

    for kind in kinds:
        if kind not in RANKERS:
            raise unknown_name("model", kind, RANKERS)
        if not issubclass(RANKERS[kind], Ranker):
            raise OptionError(f"The {kind} ranker learns from tagged rows; here rankers of lists are compared.")

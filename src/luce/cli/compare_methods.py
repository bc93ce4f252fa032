"""The methods that `luce compare` compares: models × objectives, presets, and peers, by the name of their row."""

import re
from collections.abc import Iterable
from typing import Any

from luce.cli.output import say
from luce.cli.rankers import make_preset, make_ranker, names_in, settings_of
from luce.errors import OptionError, unknown_name

DEFAULT_OBJECTIVES = {"linear": "c-kl,pl-partition", "trees": "pl-partition"}
"""Compared where nothing is named: objectives by model, and a peer."""
DEFAULT_PEER = "lightgbm-lambdarank"
INSTALLED = "installed"
_OBJECTIVE = re.compile(r"([^,()]+?)\s*(?:\(([^()]*)\))?\s*(?:,|$)")


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
    from luce.rankers import RANKERS

    ours, others = _chosen(models, objectives, presets, peers)
    systems = [] if presets is None else names_in(presets, "--presets")
    used = dict.fromkeys([*(kind for kind, _ in ours), *map(_model_of, systems)])
    _check_kinds(used)
    settings = settings_of(setting, {kind: RANKERS[kind] for kind in used} | {name: PEERS[name] for name in others})
    rows = {f"{kind} {objective}": _ranker(kind, objective, settings[kind], threads) for kind, objective in ours}
    rows |= {name: make_preset(name, settings[_model_of(name)], 0, threads) for name in systems}
    return rows | {name: peer(name, **settings[name], n_jobs=threads) for name in others}


def _chosen(
    models: str | None, objectives: str | None, presets: str | None, peers: str | None
) -> tuple[list[tuple[str, str]], list[str]]:
    """Models with objectives, and peers: those that were named, or the default ones."""
    if models is objectives is presets is peers is None:
        from luce.experiments.peers import is_installed

        if not is_installed(DEFAULT_PEER):
            say("LightGBM is not installed, so no trees are compared; to install it: pip install 'luce[trees]'")
            return [("linear", name) for name in DEFAULT_OBJECTIVES["linear"].split(",")], []
        ours = [(kind, name) for kind, names in DEFAULT_OBJECTIVES.items() for name in names.split(",")]
        return ours, [DEFAULT_PEER]
    named = models is not None or objectives is not None
    kinds = names_in(models or "linear", "--models") if named else []
    chosen = objectives_in(objectives or DEFAULT_OBJECTIVES["linear"], "--objectives") if named else []
    return [(kind, name) for kind in kinds for name in chosen], _peers(peers)


def objectives_in(given: str, option: str) -> list[str]:
    """Objectives with commas between them, each by name or with options in brackets.

    >>> objectives_in("listnet, listmle(depth=10, permutations=3)", "--objectives")
    ['listnet', 'listmle(depth=10, permutations=3)']
    """
    found, end = [], 0
    for match in _OBJECTIVE.finditer(given.strip()):
        if match.start() != end:
            break
        end = match.end()
        name, options = match.group(1).strip(), match.group(2)
        found.append(name if options is None else f"{name}({options})")
    if not found or end != len(given.strip()) or len(set(found)) < len(found):
        raise OptionError(f"{option} must be names separated by commas, each once. Got {given!r}.")
    return found


def _ranker(kind: str, objective: str, settings: dict[str, Any], threads: int | None) -> Any:
    name, _, options = objective.rstrip(")").partition("(")
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
        say(f"{package} is not installed, so it is not compared; to install it: pip install 'luce[{extra}]'")
    return [name for name in PEERS if is_installed(name)]


def _model_of(preset: str) -> str:
    from luce.rankers.presets import preset_of

    return preset_of(preset).model


def _check_kinds(kinds: Iterable[str]) -> None:
    from luce.rankers import RANKERS, Ranker

    for kind in kinds:
        if kind not in RANKERS:
            raise unknown_name("model", kind, RANKERS)
        if not issubclass(RANKERS[kind], Ranker):
            raise OptionError(f"The {kind} ranker is trained on tagged rows; only rankers of lists can be compared.")

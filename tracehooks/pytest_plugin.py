"""The pytest plugin: a test marked ``noise`` runs once for each variant of a dataset.

    @pytest.mark.noise(dataset="config/datasets/help-desk.yaml", scorer="noise_facts")
    def test_answers_withstand_noise(noise):
        noise.check(noise.ask(my_agent))

``dataset`` is a file, a pattern, a name among those of the settings, or a list of them; ``scorer`` a name
(``noise_facts`` needs no judge), a scorer, or left out the settings' own. ``types``, ``tags`` and ``cases``
choose among the variants; ``min_score`` is for those without their own. Without a judge a test that needs one
is skipped, and says so. Nothing but pytest is imported before a test asks for it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tracehooks.noise_check import NoiseCheck

MARK = "noise"
KNOWN = ("dataset", "scorer", "types", "tags", "cases", "min_score")
MARK_HELP = (
    "noise(dataset, scorer=None, types=None, tags=None, cases=None, min_score=None): run once for each noise "
    "variant of a dataset, which the fixture `noise` holds (tracehooks)"
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, so that --strict-markers takes it."""
    config.addinivalue_line("markers", MARK_HELP)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item a variant, in the order of the files: the same in every worker of pytest-xdist."""
    wish = _wish(metafunc.definition)
    if wish is None:
        return
    if MARK not in metafunc.fixturenames:
        pytest.fail(
            f"{metafunc.definition.nodeid}: a test marked noise takes the fixture `noise`", pytrace=False
        )
    rows = _rows(metafunc, wish)
    # none at all must not pass for done: one item, which fails and says why
    ids = [name for name, _ in rows] or ["no-data"]
    metafunc.parametrize(MARK, [row for _, row in rows] or [None], ids=ids, indirect=True)


@pytest.fixture
def noise(request: pytest.FixtureRequest, record_property: Any) -> "NoiseCheck":
    """The variant that this item is about: ``ask`` an agent, ``score`` or ``check`` its answer."""
    wish = _wish(request.node)
    if wish is None or not hasattr(request, "param"):
        pytest.fail("the fixture `noise` is for tests with @pytest.mark.noise(dataset=...)", pytrace=False)
    if request.param is None:
        pytest.fail(f"no_data: {_emptiness(request.config, wish)}", pytrace=False)
    case, variant = request.param
    found = _check(request.config, wish, case, variant)
    for name, value in (("case", case.id), ("variant", variant.id), ("noise_type", variant.noise_type)):
        record_property(f"noise.{name}", value)
    return found


def _wish(node: Any) -> Mapping[str, Any] | None:
    """What the marker asks for; None without one, or with one that is not ours."""
    mark = node.get_closest_marker(MARK)
    if mark is None or not (mark.kwargs.keys() & {"dataset", "scorer"} or mark.args):
        return None
    wish = {**dict(zip(("dataset", "scorer"), mark.args, strict=False)), **mark.kwargs}
    unknown = [name for name in wish if name not in KNOWN]
    if unknown or "dataset" not in wish:
        what = f"unknown argument {unknown[0]}" if unknown else "dataset is missing"
        pytest.fail(f"{node.nodeid}: mark noise: {what}; known are {', '.join(KNOWN)}", pytrace=False)
    return wish


def _rows(metafunc: pytest.Metafunc, wish: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The id of each item, and its case and variant."""
    chosen = _chosen(metafunc.config, wish, metafunc.definition.nodeid)
    several = len(chosen.datasets) > 1
    return [
        (f"{f'{dataset.name}-' if several else ''}{case.id}-{variant.id}", (case, variant))
        for dataset in chosen.datasets
        for case, variant in dataset.rows()
    ]


def _emptiness(config: pytest.Config, wish: Mapping[str, Any]) -> str:
    return str(_chosen(config, wish, "").emptiness)


def _chosen(config: pytest.Config, wish: Mapping[str, Any], where: str) -> Any:
    from tracehooks.errors import ConfigurationError
    from tracehooks.jobs.noise_setup import Selection, chosen_datasets

    selection = Selection(
        datasets=_listed(wish["dataset"]),
        cases=_listed(wish.get("cases")),
        tags=_listed(wish.get("tags")),
        types=_listed(wish.get("types")),
    )
    try:
        return chosen_datasets(_settings(config), selection, root=_root(config, selection.datasets or ()))
    except ConfigurationError as error:
        problem = str(error)  # told outside, or pytest shows it twice
    pytest.fail(f"{where}: {problem}", pytrace=False)


def _root(config: pytest.Config, wanted: Sequence[str]) -> Any:
    """Where the files are meant from: where pytest was started, else the root of the test suite."""
    here = config.invocation_params.dir
    return (
        here
        if any(next(here.glob(one), None) for one in wanted if not one.startswith("/"))
        else config.rootpath
    )


def _listed(value: Any) -> Sequence[str] | None:
    return (
        None
        if value is None
        else [str(value)]
        if not isinstance(value, list | tuple)
        else list(map(str, value))
    )


def _settings(config: pytest.Config) -> Any:
    """The settings, read once a session: those that a command in the same folder would read."""
    found = config.stash.get(_SETTINGS, None)
    if found is not None:
        return found
    from tracehooks.errors import ConfigurationError
    from tracehooks.settings import load_settings

    try:
        config.stash[_SETTINGS] = load_settings(None)
        return config.stash[_SETTINGS]
    except ConfigurationError as error:
        problem = str(error)  # told outside, or pytest shows it twice
    pytest.fail(f"tracehooks: {problem}", pytrace=False)


_SETTINGS: pytest.StashKey[Any] = pytest.StashKey()


def _check(config: pytest.Config, wish: Mapping[str, Any], case: Any, variant: Any) -> "NoiseCheck":
    from tracehooks.noise_check import NoiseCheck

    settings = _settings(config)
    least = case.min_score_for(variant)
    if least is None:
        least = wish.get("min_score", settings.jobs.noise.gate.min_score)
    return NoiseCheck(
        case=case,
        variant=variant,
        scorer=_scorer(wish.get("scorer"), settings),
        settings=settings,
        min_score=float(least),
    )


def _scorer(wanted: Any, settings: Any) -> Any:
    """The scorer; skips where it needs a judge and there is none."""
    from tracehooks.errors import ConfigurationError
    from tracehooks.scorers.loading import load_scorer, noise_scorer

    if wanted is not None and not isinstance(wanted, str):
        return wanted
    if wanted == "noise_sensitivity" and not settings.judge.model:
        pytest.skip(
            "no judge is configured (judge.model), so noise_sensitivity cannot score; "
            "noise_facts checks declared facts without one"
        )
    try:
        return noise_scorer(settings) if wanted is None else load_scorer(wanted, settings)
    except ConfigurationError as error:
        pytest.fail(str(error), pytrace=False)

"""The package as it is built: all subpackages listed, all data in the wheel, nothing heavy at import."""

import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata, resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = (
    "pydantic",
    "opentelemetry.sdk",
    "openai",
    "langfuse",
    "apscheduler",
    "sqlalchemy",
    "numpy",
    "scipy",
    "rich",
)
in_checkout = pytest.mark.skipif(
    not (ROOT / "tracehooks").is_dir(), reason="needs the checkout; here the built wheel is tested"
)


def _setuptools() -> dict[str, object]:
    tools: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    return tools


def _found() -> set[str]:
    found = set()
    for top, name in (
        (".", "tracehooks"),
        ("tracehooks", "exporters"),
        ("tracehooks", "jobs"),
        ("tracehooks", "config"),
    ):
        folder = ROOT / name
        prefix = "" if top == "." else f"{top}."
        for init in folder.rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT).parts
            if top == "." and len(parts) > 1 and parts[1] in ("exporters", "jobs", "config"):
                continue
            found.add(prefix + ".".join(parts))
    return found


@in_checkout
def test_every_subpackage_is_listed() -> None:
    """An unlisted one would be missing from the wheel."""
    assert set(_setuptools()["packages"]) == _found()  # type: ignore[call-overload]


@in_checkout
@pytest.mark.slow
def test_the_wheel_holds_all_data_files(tmp_path: Path) -> None:
    """Prompts, settings, the demo's data, the pre-screen's weights, and the mark that it is typed."""
    source = tmp_path / "source"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, files.decode().split("\0")):
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(path.read_bytes())
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    data = {
        f"tracehooks/config/{path.relative_to(ROOT / 'config').as_posix()}"
        for path in (ROOT / "config").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert data <= inside
    assert "tracehooks/py.typed" in inside
    assert "tracehooks/exporters/store.py" in inside
    assert not {name for name in inside if name.split("/")[0] in ("jobs", "exporters", "config", "tests")}


def test_importing_the_front_door_loads_nothing_heavy() -> None:
    """What is used first pays for it."""
    code = f"import sys; from tracehooks import traced; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_every_name_of_the_front_door_is_there() -> None:
    """Each one listed can be imported."""
    import tracehooks

    for name in tracehooks.__all__:
        assert getattr(tracehooks, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tracehooks.nothing  # noqa: B018


def test_every_entry_point_loads() -> None:
    """Exporters, sinks and scorers that settings may name."""
    points = [
        point for point in metadata.distribution("tracehooks").entry_points if "tracehooks" in point.group
    ]
    assert points
    for point in points:
        assert callable(point.load()) or hasattr(point.load(), "from_settings")


def test_data_is_read_through_the_package() -> None:
    """The same in a checkout, an installed wheel and an editable install."""
    assert (resources.files("tracehooks.config") / "tracehooks.yaml").is_file()

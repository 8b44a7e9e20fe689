"""Runs a framework's script as it is, with tracehooks beside it.

``hooked.py SCRIPT SETTINGS PACKAGES SPAN_PY``: not one line of the script knows of tracehooks, the hook is in
the settings. PACKAGES is where ours are; they come last on the path, so that the framework keeps its own.
"""

# mypy: ignore-errors  - runs in the environments of frameworks

import runpy
import site
import sys
from pathlib import Path

script, settings, packages, span_module = sys.argv[1:]
site.addsitedir(packages)
import tracehooks  # noqa: E402

tracehooks.init(settings)
sys.argv = [script, span_module]
sys.path.insert(0, str(Path(script).parent))
runpy.run_path(script, run_name="__main__")
assert tracehooks.flush(60), tracehooks.stats()

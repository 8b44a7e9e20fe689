"""The local viewer: pages over the store, read only, for one person on one machine."""

from tracehooks.web.app import make_app

__all__ = ["make_app"]

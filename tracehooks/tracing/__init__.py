"""Tracing: ``@traced``, the context of a call, and the way of its span to the exporters.

``wrappers`` and ``streams`` run the functions, ``call`` is one open span, ``capture`` what is recorded in it,
``provider`` finds the tracer, ``pipeline`` takes the finished spans.
"""

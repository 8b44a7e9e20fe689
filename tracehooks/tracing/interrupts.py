"""Whether somebody outside stops the thread, or a value that is being recorded only claims so.

What a value's own methods raise is ours to swallow, whatever it is: the application did not ask for them. But
Ctrl-C, and a signal's handler that calls ``sys.exit``, may come at any instruction, ours included, and these
the application must see.
"""

import _signal  # type: ignore[import-not-found]  # what signal is made of
import dis
from types import CodeType, TracebackType
from typing import Any

_RAISE = dis.opmap["RAISE_VARARGS"]


def let_through(error: BaseException) -> None:
    """Raise ``error`` again if it comes from outside: from the handler of a signal.

    Or its cause, if that does: a serializer makes an error of its own of whatever it is interrupted by.
    """
    for one in (error, error.__cause__):
        if one is not None and not isinstance(one, Exception) and _is_from_outside(one):
            raise one


def _is_from_outside(error: BaseException) -> bool:
    trace = error.__traceback__
    handlers = _codes_of_handlers()
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        if trace.tb_next is None:
            return isinstance(error, KeyboardInterrupt) and not _is_raised_there(trace)
        trace = trace.tb_next
    return False


def _is_raised_there(trace: TracebackType) -> bool:
    """Whether the frame raised it by a ``raise``. Python's own handler of Ctrl-C has no frame."""
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == _RAISE


def _codes_of_handlers() -> set[CodeType]:
    # not signal.getsignal: that asks the handler for its repr, and with it whatever the handler is bound to
    return {code for number in range(1, _signal.NSIG) if (code := _code_of(_signal.getsignal(number)))}


def _code_of(handler: Any) -> CodeType | None:
    code = getattr(getattr(handler, "__func__", handler), "__code__", None)
    return code if isinstance(code, CodeType) else None

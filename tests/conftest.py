"""What holds for all tests."""

import signal

# what a shell runs in its background ignores Ctrl-C, and so would every child that the tests send it to
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

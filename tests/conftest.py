"""What holds for all tests."""

import signal

# a shell starts what runs in its background with Ctrl-C ignored, and every child inherits that: the tests send it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

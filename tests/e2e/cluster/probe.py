"""The work of a holder, for `holdfast run`: says at every moment that it goes on, under which token, and does not stop when
it is asked to. `once`: says so once, and is done."""

import os
import signal
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    print(os.environ["HOLDFAST_TOKEN"], time.monotonic_ns(), flush=True)
    if sys.argv[1:] == ["once"]:
        break
    time.sleep(0.01)

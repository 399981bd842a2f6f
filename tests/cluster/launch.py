"""Runs a command as another user, and ends it with the thread that started it: `launch.py PARENT UID GID COMMAND...`.

A separate process instead of a preexec_fn, because Python must not run between fork and exec if there are threads. PARENT is the
caller's pid. Only Linux can end a process with its parent; elsewhere it survives a killed parent.
"""

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, user, group, *command = sys.argv[1:]
    # The limits of the tests are too low for Java, which maps more than it uses.
    for limit in (resource.RLIMIT_DATA, resource.RLIMIT_NOFILE):
        hard = resource.getrlimit(limit)[1]
        resource.setrlimit(limit, (hard, hard))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(int(group))
        os.setuid(int(user))
    if sys.platform == "linux":
        # After the change of user, which resets it.
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != int(parent):  # it ended before the line above
            sys.exit("the process that wanted this has ended")
    os.execv(command[0], command)


main()

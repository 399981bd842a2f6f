"""Runs a command as another user, so that it ends with the thread that started it: `launch.py PARENT UID GID COMMAND...`.

A process of its own and not a preexec_fn: Python must not run between fork and exec where there are threads. PARENT is the
process id of the caller. Only Linux can tie a process to another; elsewhere a killed parent leaves it behind.
"""

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, user, group, *command = sys.argv[1:]
    # What bounds the tests is not meant for Java, which maps more than it uses.
    for limit in (resource.RLIMIT_DATA, resource.RLIMIT_NOFILE):
        hard = resource.getrlimit(limit)[1]
        resource.setrlimit(limit, (hard, hard))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(int(group))
        os.setuid(int(user))
    if sys.platform == "linux":
        # After the change of user, which takes it away again.
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != int(parent):  # it died before the line above
            sys.exit("the process that wanted this has ended")
    os.execv(command[0], command)


main()

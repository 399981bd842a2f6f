"""`make demo` on Debian 12 and 13 with git, make, Python and venv, and nothing else: in roots that debootstrap makes.

The roots share the network and the certificates of this machine. Skipped without debootstrap, without root's rights, and where
mounts are not allowed, as in most containers.
"""

import os
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = "git,make,python3,python3-venv,ca-certificates"
BOOTSTRAP_SECONDS = 900
DEMO_SECONDS = 600

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("debian"), pytest.mark.timeout(BOOTSTRAP_SECONDS + DEMO_SECONDS)]


def in_root(root: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Runs a shell command in a root of its own, with this system's processes and devices, which nothing else sees."""
    mounts = f"mount --rbind /proc '{root}/proc' && mount --rbind /dev '{root}/dev'"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "MAKE"))}
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"{mounts} && exec chroot '{root}' /bin/sh -c \"$1\"", "sh", command],
        env={**environment, "HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True,
        text=True,
        timeout=DEMO_SECONDS,
        check=False,
    )


def made(release: str, directory: Path) -> Path:
    """Returns a root of this release of Debian with PACKAGES. Skips where that cannot be made."""
    if shutil.which("debootstrap") is None or os.geteuid() != 0:
        pytest.skip("needs debootstrap, and root")
    if subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("mounts are not allowed here")
    root = directory / release
    done = subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", release, str(root)],
        capture_output=True,
        text=True,
        timeout=BOOTSTRAP_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"debootstrap: {done.stdout[-300:]}")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    bundle = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    if bundle and Path(bundle).is_file():
        shutil.copy(bundle, root / "etc/ssl/certs/ca-certificates.crt")
    return root


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_the_first_command_of_the_readme_works(release: str, tmp_path: Path) -> None:
    root = made(release, tmp_path)
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(root / "codecompass")], check=True)
    try:
        done = in_root(root, "cd /codecompass && make demo")

        assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
        assert "What to do next" in done.stdout
        assert "symbols in" in done.stdout + done.stderr
    finally:
        shutil.rmtree(root)

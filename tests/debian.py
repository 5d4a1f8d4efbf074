"""Install Debian packages that the tests need."""

import os
import shutil
import subprocess


def install(package: str) -> None:
    """Try to install a Debian package as root, or with sudo if it needs no password."""
    apt = shutil.which("apt-get")
    sudo = shutil.which("sudo")
    if apt is None or (os.geteuid() != 0 and sudo is None):
        return
    as_root = [] if os.geteuid() == 0 else [str(sudo), "--non-interactive"]
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", package]):
        subprocess.run([*as_root, apt, "-qq", *arguments], env=quiet, stdin=subprocess.DEVNULL, check=False)

"""Finds the Chromium that the browser tests drive, and installs one where there is none."""

import os
import shutil
import sys

from tests.debian import install

NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")

ADVICE = (
    "The browser tests need a Chromium. Install one (on Debian: apt-get install chromium), "
    "or say where yours is: make test CHROMIUM=/path/to/chrome"
)

# What a browser does beside its page, and no test needs: above all two pages below the address bar, which
# are made anew with each visitor and take longer than many a test.
_NEEDLESS = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess")
# Only the last list of features counts, so that what Playwright switches off must be said again.
_BY_PLAYWRIGHT = (
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding", "AimEnabled"),
    *("ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints"),
    *("NetworkTimeServiceQuerying", "PreconnectToSearch"),
)
CLASSROOM = "classroom.local"
"""Another name of this machine, as a teacher's computer has one; there is no https for it."""

QUIET = [
    "--no-sandbox",
    f"--host-resolver-rules=MAP {CLASSROOM} 127.0.0.1",
    "--no-proxy-server",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    f"--disable-features={','.join(_NEEDLESS + _BY_PLAYWRIGHT)}",
    "--js-flags=--single-threaded --no-opt",  # no test runs for so long that the best machine code pays
]
"""What a Chromium for tests is started with."""


def find() -> str | None:
    """The path of the Chromium to use: the environment variable CHROMIUM, else an installed one."""
    names = (chosen,) if (chosen := os.environ.get("CHROMIUM")) else NAMES
    return next(filter(None, map(shutil.which, names)), None)


if __name__ == "__main__":
    if find() is None and "CHROMIUM" not in os.environ:
        install("chromium")
    if find() is None:
        sys.exit(ADVICE)

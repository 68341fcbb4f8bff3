# `make run` and `make test` are all that a user needs; both set up what is missing first.
SHELL := /bin/sh
.PHONY: run test test-openstack docs docs-test packages image lint setup setup-dev format reference pins clean

run: setup
	@.venv/bin/aferir run experiments/this-machine.toml

setup:
	@scripts/setup run

setup-dev:
	@scripts/setup dev

test: setup-dev
	@scripts/test

# A whole OpenStack in namespaces of its own, removed again; as root, within half an hour.
test-openstack: setup-dev
	@.venv/bin/python -m pytest -s tests/openstack_host

# The documentation as a site, in build/site; it is built without network once MkDocs is installed.
docs:
	@scripts/docs

# What is released, in dist/: sdist, manylinux wheel, SBOM, Debian packages, recipes for Spack.
# Compiles all kernels.
packages: setup-dev
	@scripts/package

# The tool as an OCI image, dist/aferir-VERSION.oci.tar; compiles all kernels.
image: setup-dev
	@scripts/package sdist wheel image

# Every command of every page, as root; most of the time goes into experiments of minutes each.
# First comes what the pages use of the system besides.
docs-test: setup-dev
	@scripts/system-packages docs
	@.venv/bin/python -m pytest -rA tests/docs tests/docs_commands

lint: setup-dev
	@scripts/lint

format: setup-dev
	@.venv/bin/ruff check --fix --quiet src tests benchmarks
	@.venv/bin/ruff format --quiet src tests benchmarks
	@git ls-files '*.cpp' '*.hpp' '*.h' '*.c' | xargs -r .venv/bin/clang-format -i

# Pages, manual pages and the schema that are written from declarations in the code.
reference: setup-dev
	@.venv/bin/aferir schema > docs/reference/experiment.schema.json
	@for file in run.json plan.json provenance.json records.jsonl complete.json report.json; do \
		.venv/bin/aferir schema --of $$file > docs/reference/schemas/$$file; done
	@.venv/bin/aferir schema --markdown > docs/reference/programs.md
	@.venv/bin/aferir schema --markdown environments > docs/reference/environment-keys.md
	@.venv/bin/aferir schema --markdown sections > docs/reference/experiment-keys.md
	@.venv/bin/aferir schema --markdown published > docs/reference/published.md
	@.venv/bin/aferir manual --markdown > docs/reference/verbs.md
	@.venv/bin/aferir manual --to share/man/man1
	@.venv/bin/python scripts/site/headers.py

# Takes newer versions of everything; `uv` must be on the path.
pins:
	@cd requirements && uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header ../pyproject.toml build.in -o run.txt
	@cd requirements && uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header --extra dev ../pyproject.toml build.in \
		-c run.txt -o dev.txt
	@cd requirements && uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header docs.in -o docs.txt
	@cd requirements && uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header uv.in -o uv.txt
	@cd requirements && uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header package.in -c run.txt -o package.txt

clean:
	@if [ -x .venv/bin/aferir ]; then .venv/bin/aferir clean; fi
	@rm -rf build .venv

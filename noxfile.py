"""Sessions of wheelgrid: thin, no logic. `nox -l` lists them; `nox -s stack` is the main job."""

import nox

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv"
nox.options.sessions = ["lint", "typing", "tests"]
nox.options.reuse_venv = "yes"

# 3 is "could not check": what this machine cannot look at is said, and is no failure of the run.
GOOD_OR_UNCHECKED = [0, 3]


@nox.session
def stack(session: nox.Session) -> None:
    """Build, audit, install, import and execute the stack here; end with a page to open."""
    session.install("-e", ".[build]")
    arguments = session.posargs or ["--tier", "stack"]
    session.run("wheelgrid", "test", *arguments, success_codes=GOOD_OR_UNCHECKED)
    session.run("wheelgrid", "report")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; real tools where they are here, skips with reasons where not."""
    session.install("-e", ".[build]", "--group", "test")
    session.run("pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and workflows: ruff, zizmor, the schema of GitHub workflows."""
    session.install("--group", "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("zizmor", "--offline", "--pedantic", ".github/workflows")
    schema = "vendor.github-workflows"
    session.run("check-jsonschema", "--builtin-schema", schema, ".github/workflows/ci.yml")


@nox.session
def typing(session: nox.Session) -> None:
    """Type-check src, tests, benchmarks and this file with mypy, strict."""
    session.install("-e", ".", "--group", "typing", "--group", "test")
    session.run("mypy", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a broken link or page is an error."""
    session.install("--group", "docs")
    session.run("mkdocs", "build", "--strict", *session.posargs)


@nox.session
def plan(session: nox.Session) -> None:
    """Show the expanded matrix and what each build needs."""
    session.install("-e", ".[build]")
    session.run("wheelgrid", "plan", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build and audit wheels: `nox -s build -- 'regex@*-cp313-*'`."""
    session.install("-e", ".[build]")
    session.run("wheelgrid", "build", *session.posargs, success_codes=GOOD_OR_UNCHECKED)


@nox.session
def gpu_tests(session: nox.Session) -> None:
    """Test the CUDA cells of gridprobe on a machine with an NVIDIA GPU (downloads torch)."""
    session.install("-e", ".[build]")
    cells = session.posargs or ["gridprobe@torch2.14.1-cp311-linux_x86_64-cuda13.0"]
    session.run("wheelgrid", "test", *cells)


@nox.session
def report(session: nox.Session) -> None:
    """Write the static site from the plan and the records."""
    session.install("-e", ".")
    session.run("wheelgrid", "report", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure plan, start-up and memory; prints numbers, asserts nothing."""
    session.install("-e", ".[build]", "--group", "bench")
    session.run("python", "benchmarks/planning.py", *session.posargs)
    session.run("python", "benchmarks/scale.py")


@nox.session
def bench_coverage(session: nox.Session) -> None:
    """Compare test selection with its peers: rows, combinations, seconds."""
    session.install("-e", ".", "--group", "bench")
    session.run("python", "benchmarks/coverage.py", *session.posargs)


@nox.session
def ondemand(session: nox.Session) -> None:
    """Compare real wheels with readelf and cuobjdump; WHEELGRID_WHEELS or a download of 3 GB."""
    session.install("-e", ".", "--group", "test", "--group", "ondemand")
    session.run("pytest", *(session.posargs or ["tests/ondemand"]))


@nox.session
def bench_inspecting(session: nox.Session) -> None:
    """Compare inspection of the wheels given with auditwheel, cuobjdump and bare inflate."""
    session.install("-e", ".[build]", "--group", "ondemand")
    session.run("python", "benchmarks/inspecting.py", *session.posargs)

"""The command group and the one place where errors are printed and exit codes chosen."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import traceback
from pathlib import Path

import click

from wheelgrid import __version__
from wheelgrid.core.errors import ExitCode, WheelgridError

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS = {
    "plan": "Expand, decide and collapse the matrix; say what each build needs.",
    "explain": "Why a cell is included or excluded, and what is known of it.",
    "diff": "What changes between two plans: cells, builds, cost; for a pull request.",
    "lint": "Check matrix.yaml, recipes and compat/ for mistakes that still decode.",
    "sunset": "Ends of support: stages, days left, cells affected; scan another project.",
    "import": "Turn a workflow, build.toml or conda_build_config.yaml into a matrix.yaml.",
    "resolve": "What an installer would pick for a cell from a list of files, and the traps.",
    "build": "Build the wheels that are missing or out of date.",
    "inspect": "What a wheel contains: needs, ABIs, device code; per native file.",
    "audit": "Check what a wheel really contains.",
    "runs-on": "Whether a wheel's device code runs on a GPU, by kernel.",
    "test": "Install, import and execute packages in fresh environments.",
    "observe": "Record what the package index really publishes.",
    "collect": "Move the records of this machine into compat/observations.",
    "report": "Write the static compatibility site.",
    "render": "Write derived files: schemas and reference pages.",
    "doctor": "What this machine can do, and what is missing.",
}

_MODULES = {"import": "import_", "runs-on": "runs_on"}  # names that are none of Python


class LazyGroup(click.Group):
    """Imports a command's module only when it runs: start-up stays short."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of the work."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import `wheelgrid.cli.<name>` and take its `command`."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"wheelgrid.cli.{_MODULES.get(cmd_name, cmd_name)}")
        command = module.command
        assert isinstance(command, click.Command)  # noqa: S101 - our own modules
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from their one-line texts, without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for a typo."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from wheelgrid.config.yaml import nearest

            hint = nearest(args[0], list(COMMANDS))
            msg = f"{error.message} {hint}".strip()
            raise click.UsageError(msg, ctx) from None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="wheelgrid")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR|FILE",
    help="Project folder, or its matrix file under another name; default: the nearest folder at "
    "or above here with a matrix.yaml.",
)
@click.pass_context
def cli(ctx: click.Context, root: Path | None) -> None:
    """Plan, build, audit, test and report PyTorch extension wheels across a matrix.

    Exit codes: 0 good, 1 found failures, 2 usage or configuration, 3 could not check,
    130 interrupted.
    """
    ctx.obj = root


def _print_error(error: WheelgridError) -> None:
    click.echo(f"error: {error}", err=True)
    if error.hint:
        click.echo(f"hint: {error.hint}", err=True)


# A full or read-only disk, a quota, missing rights: nothing that wheelgrid got wrong.
_OF_THE_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


def _report(error: BaseException) -> ExitCode:
    """Print an error as its kind asks for, and choose the exit code."""
    match error:
        case click.Abort() | KeyboardInterrupt():
            click.echo("interrupted", err=True)
            return ExitCode.INTERRUPTED
        case click.ClickException():
            error.show()
            return ExitCode.USAGE
        case WheelgridError():
            _print_error(error)
            return error.exit_code
        case BrokenPipeError():
            # The reader (head, less) went away: not our failure. Keep the interpreter from
            # complaining when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ExitCode.GOOD
        case OSError(errno=number) if number in _OF_THE_MACHINE:
            place = f": {error.filename}" if error.filename else ""
            click.echo(f"error: {error.strerror}{place}", err=True)
            return ExitCode.COULD_NOT_CHECK
        case _:
            traceback.print_exception(error)
            click.echo("error: this is a defect of wheelgrid; please report it", err=True)
            return ExitCode.DEFECT


def run(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code; only foreign failures show a traceback."""
    try:
        result = cli.main(args=argv, prog_name="wheelgrid", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - told apart in _report
        return int(_report(error))
    return int(result) if isinstance(result, int) else int(ExitCode.GOOD)


def _interrupt(signum: int, frame: object) -> None:
    """End on SIGTERM as on Ctrl-C: processes are ended, nothing is left half done."""
    del signum, frame
    raise KeyboardInterrupt


def main() -> None:
    """Console script entry point."""
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(run())

"""Run the command line as `python -m wheelgrid`."""

from wheelgrid.cli.main import main

if __name__ == "__main__":
    main()

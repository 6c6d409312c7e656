"""``python -m hf_vqa_mc`` is ``vqa-mc``; so ``accelerate launch -m hf_vqa_mc`` can start it."""

import sys

from hf_vqa_mc.io.interruption import handle_signals, is_interruption, report_interruption


def main() -> None:
    """Run ``vqa-mc``, interruptible from the start."""
    handle_signals()
    try:
        from hf_vqa_mc.cli import main as run

        run()
    except BaseException as error:
        is_done = isinstance(error, SystemExit) and error.code not in (1, 130)  # these are typer's if interrupted
        if is_done or not is_interruption(error):
            raise
        sys.exit(report_interruption())


if __name__ == "__main__":
    main()

"""What the pages' tests share: a real browser."""

import pytest

from tests.report.browser import a_browser


@pytest.fixture(scope="session")
def browser():
    """Chromium; skips where it is not installed."""
    with a_browser() as found:
        yield found

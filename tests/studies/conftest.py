"""A real browser for the pages of studies."""

from tests.report.conftest import browser as browser

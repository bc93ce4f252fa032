"""One self-contained HTML page that shows what was measured, on which data, and how to do it again."""

from luce.report.contents import Cost, Report
from luce.report.page import SECTIONS, write_report

__all__ = ["SECTIONS", "Cost", "Report", "write_report"]

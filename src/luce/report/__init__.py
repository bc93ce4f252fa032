"""One self-contained HTML page that shows what was measured, on which data, and how to do it again."""

from luce.report.aggregation import write_aggregation
from luce.report.contents import Cost, Report
from luce.report.exposure import write_exposure
from luce.report.exposure_shares import exposure_shares
from luce.report.page import SECTIONS, write_report

__all__ = [
    "SECTIONS",
    "Cost",
    "Report",
    "exposure_shares",
    "write_aggregation",
    "write_exposure",
    "write_report",
]

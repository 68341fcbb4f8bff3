"""Sections of a report: one file each, joined in `report/page.py`.

A section is a function `section(subject) -> Section | None` with its condition (None if the run
has no data for it), title, caption and blocks; every form of the report walks the same sections. A
picture is drawn only by the forms that show it.

    def section(subject: Subject) -> Section | None:
        shown = [one for one in subject.evaluation.allocations if one.total.n]
        if not shown:
            return None
        return Section(
            title="Allocation phases",
            blocks=(Paragraph("Mean time ..."), Picture(partial(allocation_charts, shown))),
        )
"""

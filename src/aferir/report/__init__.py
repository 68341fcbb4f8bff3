"""What a run says: its evaluation, and the page, the tables and the files made from it.

Nothing is imported here; import the file you need: `from aferir.report.analyse import analyse`.
"""

"""Pages over a folder of runs: served on the loopback interface, or written as static files.

Both forms have the same addresses, so that links between pages are relative:

    index.html                 all runs
    history.html               their durations over time, with change points
    compare.html?run=A&run=B   two runs; in static files compare/NAME.html, with the run before it
    run/NAME/index.html        one run, with its progress while it is unfinished
    run/NAME/report.html       its report
    run/NAME/state.json        its progress for the script of the page
"""

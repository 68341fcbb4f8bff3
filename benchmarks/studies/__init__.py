"""Check the experiment files of the five studied works, and run their short forms to the end."""

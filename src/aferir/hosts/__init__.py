"""Other hosts: a command that gives us the standard input and output of a shell there.

At its other end runs the same aferir as an agent. It makes environments, runs programs and reads
probes there by the very code that does it here, keeps that host's journal, and gives back what it
made when the line breaks. `line` reaches a host, `agent` serves there, `environment` makes what is
there look like what is here.
"""

"""Other hosts, each reached by a command that opens a shell there.

At the other end of the connection runs the same aferir as an agent. It makes environments, runs
programs and reads probes by the same code as locally, writes that host's journal, and releases what
it made when the connection breaks. `line` connects to a host, `agent` serves there, `environment`
represents its environments here.
"""

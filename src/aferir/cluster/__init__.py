"""Virtual clusters on demand: a front end and workers, ready for MPI, that outlive the command."""

"""Linux itself: processes, the journal, control groups, namespaces, affinity, mounts."""

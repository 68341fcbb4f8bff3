"""Access to Linux: processes, the journal, control groups, namespaces, affinity, mounts."""

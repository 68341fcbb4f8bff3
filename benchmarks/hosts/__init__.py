"""Many hosts at once, real ones in namespaces and simulated ones by the thousand."""

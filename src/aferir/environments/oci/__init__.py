"""Containers by an engine (Podman, Docker), an OCI runtime below it, and an image."""

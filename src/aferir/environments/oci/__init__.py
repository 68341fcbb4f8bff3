"""Containers as most people have them: an engine (Podman), an OCI runtime under it, an image."""

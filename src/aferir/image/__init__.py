"""The userland of containers and guests: its recipe, its cache, its initramfs."""

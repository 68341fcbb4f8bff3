"""The userland that containers and guests run: its recipe, its cache, its initramfs."""

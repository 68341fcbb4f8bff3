"""Virtual machines by QEMU: virtualised if KVM boots a guest, emulated elsewhere."""

"""Virtual machines by QEMU: virtualised where KVM boots a guest, emulated elsewhere."""

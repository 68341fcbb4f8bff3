"""Guests under User-Mode Linux: a kernel of their own, at native speed, without virtualisation.

Source: Documentation/virt/uml/user_mode_linux_howto_v2.rst of the kernel.
"""

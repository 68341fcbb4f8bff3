"""Guests under User-Mode Linux: their own kernel, at native speed, without virtualisation.

Source: Documentation/virt/uml/user_mode_linux_howto_v2.rst of the kernel.
"""

"""Measure the gate against slower programs, and the first answer of `aferir measure`."""

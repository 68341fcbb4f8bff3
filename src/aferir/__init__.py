"""aferir: what a computing environment costs a program, and winning it back."""

__version__ = "0.1.0"

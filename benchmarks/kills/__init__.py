"""Kill aferir at any moment of its work with any program."""

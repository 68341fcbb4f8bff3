"""Network measurements beside the programs that are trusted for them."""

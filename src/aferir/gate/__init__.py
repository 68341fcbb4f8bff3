"""Whether a change made a program slower: two versions side by side, for continuous integration."""

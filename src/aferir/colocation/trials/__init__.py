"""What policies are worth on a real service: one arm at a time, interleaved, under an open loop."""

"""Virtual clusters: life, network and what runs on them, beside peers."""

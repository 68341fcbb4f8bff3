"""How a service's latencies are learnt: from its log, its own metrics, or by asking it."""

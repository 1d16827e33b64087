"""The audit's rules, by what they look at. Each takes a wheel and what is expected of it."""

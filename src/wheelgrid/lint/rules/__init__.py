"""One rule per module. Add a module with a `RULE`; nothing has to be registered."""

"""The runner of the conformance scenarios; it needs the standard library only."""

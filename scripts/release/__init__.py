"""Release artefacts: one module per kind. `scripts/package.py` is the command that uses them."""

"""How each result looks: a table for eyes, JSON for scripts, the same numbers in both."""

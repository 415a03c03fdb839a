"""Session memory for Claude Code: plain modules, one per hook event, standard library only."""

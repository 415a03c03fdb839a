"""Widgets for a notebook: browse a store, review repairs, apply them. Panels show; what they show is made below."""

"""Figures: live with plotly, a still picture where plotly cannot run, a line of text where neither shows."""

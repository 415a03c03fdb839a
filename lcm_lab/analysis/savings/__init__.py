"""What memory saves: sessions replayed request by request, counted in tokens, dollars and what is still known."""

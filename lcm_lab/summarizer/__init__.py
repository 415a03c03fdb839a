"""The one seam to a language model: prompts, providers, credentials, and what sends a prompt."""

"""Langfuse: spans and scores out, and what its servers are like. No one else here knows its API."""

"""Data that ships with tracehooks: starter settings, prompts, the demo's messages and knowledge."""

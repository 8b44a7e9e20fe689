"""What is shown to people and programs: pure functions from records to a terminal, Markdown or JSON.

One file a thing that is reported, with a sibling for each form it takes; nothing here prints.
"""

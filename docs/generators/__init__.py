"""Parts of the documentation generated from the code: plots, commands, examples and the API reference."""

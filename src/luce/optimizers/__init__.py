"""Ways to lower an objective: each takes a function and a start, and tells its caller after every step."""

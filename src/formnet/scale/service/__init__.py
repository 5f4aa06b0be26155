"""Documents over HTTP: Ray Serve carries them to readers and networks, and brings their fields back."""

"""Pictures: what the model is given and what it gives, drawn on the page."""

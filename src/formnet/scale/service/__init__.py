"""HTTP service on Ray Serve: an ingress, readers that convert files to documents, and model replicas."""

"""Files to documents and back: readers, OCR engines, Label Studio, writers."""

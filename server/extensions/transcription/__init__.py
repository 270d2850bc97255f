"""Speech to text (docs/reference/extension-transcription.md)."""

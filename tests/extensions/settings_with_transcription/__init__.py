"""Transcription in the settings."""

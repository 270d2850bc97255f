"""Try a pasted key in the settings, at the vendor that it belongs to."""

from ..declaration import Extension

EXTENSION = Extension(requires=("settings", "vendors"), parts="routes:KeyTrialParts")

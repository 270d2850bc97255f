"""The page as a person meets it: real browsers, from disk and served, over a line that can be cut.

puppeteer-core drives both, Chromium over its own protocol and Firefox over WebDriver BiDi. Tests
skip themselves where a browser or the driver is missing.
"""

"""Tests of server/lib/agent_skills."""

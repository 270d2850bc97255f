"""Errors of requests: the codes of yaa, in the table of `Problem`.

Problem          status  raised by
├ bad_json        400    api: the body is not strict JSON (says line and column)
├ unauthorized    401    api/auth
├ …                      see CODES, the only table
└ internal        500    api: a bug; the log has the details under the incident id
"""

from __future__ import annotations

from . import extensions
from .lib.problem import CODES, Problem, disk_problem, refuse, translate_problems

__all__ = ["CODES", "Problem", "disk_problem", "refuse", "translate_problems"]

CODES.update(
    {
        "file_not_found": (404, "There is no such file"),
        "base_unknown": (409, "The beginning of the session is not kept here"),
        "revision_changed": (409, "The settings were changed meanwhile"),
        "run_active": (409, "This session is already running here"),
        "workspace_busy": (409, "The workspace is in use"),
        "workspace_conflict": (409, "The workspace is not as the request expects"),
        "workspace_moved": (409, "The files have changed since they were looked at"),
        "objects_missing": (409, "Objects of this tree are not here"),
        "link_expired": (410, "This link can be used no more"),
        "workspace_too_large": (413, "This is more than a workspace may hold"),
        "file_too_large": (422, "The file is larger than may be fetched"),
        "session_invalid": (422, "The session is not valid"),
        "session_version": (422, "The session is newer than this server"),
        "answer_invalid": (422, "An answer does not fit its interrupt"),
        "agent_unknown": (422, "The agent is not known here"),
        "path_outside": (422, "The path leads out of the workspace"),
        "file_unusable": (422, "The file cannot be used"),
        "folder_unknown": (422, "The folder is not known here"),
        "folder_missing": (422, "The folder cannot be used now"),
        "folder_mode": (422, "The folder cannot be used in its mode here"),
        "settings_invalid": (422, "The settings cannot be used like this"),
        "provider_unknown": (422, "The provider or model is not known here"),
        "provider_not_allowed": (422, "This server does not call that provider"),
        "sandbox_unavailable": (503, "This server cannot run tools safely"),
        **extensions.all_of("errors"),
    }
)

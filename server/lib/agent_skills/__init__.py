"""Agent Skills (https://agentskills.io/specification): read and check the folder of one.

folder        what its `SKILL.md` says, its files, a hash of all; no link is followed
front_matter  the YAML that stands before the instructions

Alone:

    import tempfile
    from pathlib import Path
    from lib.agent_skills.folder import FILE, files_of, read_file, skill_text

    with tempfile.TemporaryDirectory() as top:
        folder = Path(top, "pdf")
        folder.mkdir()
        (folder / FILE).write_text("---\\ndescription: Reads PDF files\\n---\\nBegin.\\n")
        print(skill_text(read_file(folder, FILE, 1_000), folder.name).description)
        print([each.path for each in files_of(folder)[0]])
"""
